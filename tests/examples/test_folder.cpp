#include <filesystem>
#include <string>

#include "autograd/kernels/threads.hpp"
#include "examples/imdb/reader.hpp"
#include "tests/catch.hpp"
#include "tests/examples/folder_for_tests.hpp"

using namespace pencil::imdb;
using pencil::tests::TemporaryFolder;

namespace {

std::string shown(const Reading& reading) {
  std::string text;
  for (const Review& review : reading.reviews) text += review.text + "=" + std::to_string(review.label) + " ";
  return text;
}

void write_part(const TemporaryFolder& folder, const std::string& part) {
  folder.write(part + "/pos/0_9.txt", part + " liked 0");
  folder.write(part + "/pos/10_7.txt", part + " liked 10");
  folder.write(part + "/pos/9_8.txt", part + " liked 9");
  folder.write(part + "/neg/0_1.txt", part + " hated 0");
}

}  // namespace

TEST_CASE("folder: pos before neg, file names in byte order") {
  const TemporaryFolder folder;
  write_part(folder, "train");
  write_part(folder, "test");
  CHECK(shown(read_reviews(folder.path(), Part::train)) ==
        "train liked 0=1 train liked 10=1 train liked 9=1 train hated 0=0 ");
  CHECK(shown(read_reviews(folder.path(), Part::test)) ==
        "test liked 0=1 test liked 10=1 test liked 9=1 test hated 0=0 ");
  CHECK(read_reviews(folder.path(), Part::train).liked() == 3);
}

TEST_CASE("folder: unsup is counted, other files are left alone") {
  const TemporaryFolder folder;
  write_part(folder, "train");
  folder.write("train/unsup/0_0.txt", "unread");
  folder.write("train/unsup/1_0.txt", "unread");
  folder.write("train/urls_pos.txt", "http");
  folder.write("train/pos/.DS_Store", "x");
  folder.write("train/pos/notes.md", "x");
  std::filesystem::create_directories(folder.path() / "train/pos/folder.txt");
  const Reading reading = read_reviews(folder.path(), Part::train);
  CHECK(reading.reviews.size() == 4);
  CHECK(reading.unlabelled == 2);
  CHECK(reading.bad_rows == 0);
}

TEST_CASE("folder: a part itself can be named") {
  const TemporaryFolder folder;
  write_part(folder, "held");
  CHECK(read_reviews(folder.path() / "held", Part::test).reviews.size() == 4);
  CHECK(read_reviews(folder.path() / "held", Part::train).reviews.size() == 4);
}

TEST_CASE("folder: texts are read as UTF-8 whatever they hold") {
  const TemporaryFolder folder;
  folder.write("train/pos/1.txt", "\xEF\xBB\xBF\u201cna\u00efve\u201d\r\nlast");
  folder.write("train/pos/2.txt", "");
  folder.write("train/neg/1.txt", "bad\x9D\xC2");
  const Reading reading = read_reviews(folder.path(), Part::train);
  CHECK(shown(reading) == "\u201cna\u00efve\u201d\nlast=1 =1 bad  =0 ");
  CHECK(reading.broken_bytes == 2);
}

TEST_CASE("folder: what is missing is named, with what is there") {
  const TemporaryFolder folder;
  const auto train = [&] { return read_reviews(folder.path(), Part::train); };
  CHECK_THROWS_WITH(train(),
                    Says(folder.path().string() + ": no folder train in it; need train/pos and train/neg; " +
                         "it holds nothing: the folder is empty"));
  folder.write("aclImdb/README", "x");
  folder.write("notes.txt", "x");
  CHECK_THROWS_WITH(train(), Says("no folder train in it") && Says("it holds \"aclImdb\", \"notes.txt\""));
  folder.write("train/pos/1.txt", "x");
  CHECK_THROWS_WITH(train(), Says("train: no folder neg in it; need pos and neg; it holds \"pos\""));
  std::filesystem::create_directories(folder.path() / "train/neg");
  CHECK_THROWS_WITH(train(), Says("train/neg: no .txt files in it"));
  CHECK_THROWS_WITH(read_reviews(folder.path(), Part::test),
                    Says("no folder test in it; need test/pos and test/neg"));
  for (int i = 0; i < 30; ++i) folder.write("other/" + std::to_string(i), "x");
  CHECK_THROWS_WITH(read_reviews(folder.path() / "other", Part::train), Says(" and 20 more"));
}

TEST_CASE("folder: the same reading for any number of threads", "[threads]") {
  const TemporaryFolder folder;
  for (int i = 0; i < 300; ++i) {
    folder.write("train/pos/" + std::to_string(i) + ".txt", "liked \x80" + std::to_string(i));
    folder.write("train/neg/" + std::to_string(i) + ".txt", "hated " + std::to_string(i));
  }
  const int before = pencil::kernels::threads();
  pencil::kernels::set_threads(1);
  const std::string one = shown(read_reviews(folder.path(), Part::train));
  for (const int threads : {2, 5}) {
    pencil::kernels::set_threads(threads);
    const Reading reading = read_reviews(folder.path(), Part::train);
    CHECK(shown(reading) == one);
    CHECK(reading.broken_bytes == 300);
  }
  pencil::kernels::set_threads(before);
}

TEST_CASE("piles: a folder brings its exam, another may be named") {
  const TemporaryFolder folder;
  write_part(folder, "train");
  CHECK_THROWS_WITH(read_piles(folder.path(), {}, 1),
                    Says("no folder test in it to be judged by; name other reviews with --test"));
  const auto file = folder.write("exam.csv", "review,label\nx,1\n");
  Piles piles = read_piles(folder.path(), file, 1);
  CHECK(piles.study.reviews.size() == 4);
  CHECK(shown(piles.exam) == "x=1 ");
  CHECK_FALSE(piles.held_out);
  write_part(folder, "test");
  piles = read_piles(folder.path(), {}, 1);
  CHECK(shown(piles.exam).starts_with("test liked 0=1 "));
  CHECK_FALSE(piles.held_out);
}

TEST_CASE("piles: a single file holds out a fifth, and says so") {
  const TemporaryFolder folder;
  std::string text = "review,label\n";
  for (int i = 0; i < 50; ++i) text.append(std::to_string(i)).append(i < 20 ? ",1\n" : ",0\n");
  const auto file = folder.write("a.csv", text + "bad\n");
  const Piles piles = read_piles(file, {}, 1, {.skip_bad = true});
  CHECK(piles.held_out);
  CHECK(piles.study.reviews.size() == 40);
  CHECK(piles.exam.reviews.size() == 10);
  CHECK(piles.exam.liked() == 4);
  CHECK(piles.study.bad_rows == 1);
  CHECK(shown(read_piles(file, {}, 1, {.skip_bad = true}).exam) == shown(piles.exam));
  CHECK(shown(read_piles(file, {}, 2, {.skip_bad = true}).exam) != shown(piles.exam));

  const Piles named = read_piles(file, file, 1, {.skip_bad = true});
  CHECK_FALSE(named.held_out);
  CHECK(named.study.reviews.size() == 50);
  CHECK(named.exam.reviews.size() == 50);
}
