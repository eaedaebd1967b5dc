#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "autograd/files/safetensors.hpp"
#include "examples/imdb/progress.hpp"
#include "tests/catch.hpp"
#include "tests/examples/folder_for_tests.hpp"
#include "tests/examples/imdb_for_tests.hpp"

using namespace pencil;
using nlohmann::json;
using tests::Ran;
using tests::run_imdb;

namespace {

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> train_on(const std::filesystem::path& data, const std::vector<std::string>& more) {
  std::vector<std::string> words{"train", "--data", data.string(), "--preset", "pencil"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

int lines_with(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

}  // namespace

TEST_CASE("imdb train prints what it read, the model, a line an epoch, the best and the time") {
  const tests::TemporaryFolder folder;
  const auto data = folder.write("reviews.csv", tests::small_csv());
  const Ran ran = run_imdb(train_on(data, {"--epochs", "3", "--batch-size", "4"}));
  CHECK(ran.status == 0);
  CHECK(ran.err.empty());
  CHECK_THAT(ran.out, Says("A fifth of " + data.string() + " is held out for the exam, chosen by seed 1"));
  CHECK_THAT(ran.out, Says("Study pile: 16 reviews (8 liked, 8 hated)"));
  CHECK_THAT(ran.out, Says("Exam: 4 reviews (2 liked, 2 hated)"));
  CHECK_THAT(ran.out, Says("Total: 40,105 parameters"));
  CHECK(lines_with(ran.out, "\nEpoch ") == 3);
  CHECK_THAT(ran.out, Says("Epoch 3/3: train loss "));
  CHECK_THAT(ran.out, Says("\nBest epoch: "));
  CHECK_THAT(ran.out, Says("\nTotal time: "));
  CHECK(ran.out.find('\r') == std::string::npos);  // no bar where the output is no terminal
  CHECK(run_imdb(train_on(data, {"--epochs", "1", "--quiet"})).out.empty());
}

TEST_CASE("imdb train learns") {
  const tests::TemporaryFolder folder;
  const auto data = folder.write("reviews.csv", tests::small_csv());
  const auto metrics = folder.path() / "m.json";
  for (const char* arch : {"attention", "bag"}) {
    const Ran ran =
        run_imdb({"train", "--data", data.string(), "--arch", arch, "--max-len", "8", "--epochs", "60",
                  "--batch-size", "4", "--vocab-size", "30", "--metrics", metrics.string(), "--quiet"});
    REQUIRE(ran.status == 0);
    CHECK(json::parse(bytes_of(metrics))["epochs"].back()["test_accuracy"] == 1.0);
  }
}

TEST_CASE("imdb train: the metrics file") {
  const tests::TemporaryFolder folder;
  const auto data = folder.write("reviews.csv", tests::small_csv());
  const auto metrics = folder.path() / "m.json";
  const Ran ran =
      run_imdb(train_on(data, {"--epochs", "2", "--vocab-size", "50", "--metrics", metrics.string()}));
  REQUIRE(ran.status == 0);
  const json j = json::parse(bytes_of(metrics));
  CHECK(j.size() == 5);
  CHECK(j["settings"]["data"] == data.string());
  CHECK(j["settings"]["width"] == 4);
  CHECK(j["settings"]["vocab_size"] == 50);
  CHECK(j["settings"]["seed"] == 1);
  CHECK(j["settings"]["threads"].get<int>() >= 1);
  CHECK(j["parameters"] == 305);  // 50 · 4, four grids 4 × 4 with nudges, 4 × 4 + 4, 4 + 1
  REQUIRE(j["epochs"].size() == 2);
  for (const int i : {0, 1}) {
    const json& epoch = j["epochs"][static_cast<std::size_t>(i)];
    CHECK(epoch.size() == 7);
    CHECK(epoch["epoch"] == i + 1);
    CHECK(epoch["train_loss"].get<double>() > 0);
    CHECK(epoch["test_loss"].get<double>() > 0);
    for (const char* key : {"train_accuracy", "test_accuracy"}) {
      CHECK(epoch[key].get<double>() >= 0);
      CHECK(epoch[key].get<double>() <= 1);
    }
    CHECK(epoch["train_seconds"].get<double>() >= 0);
    CHECK(epoch["test_seconds"].get<double>() >= 0);
  }
  const std::size_t best = j["best"]["epoch"].get<std::size_t>();
  CHECK(j["best"]["by"] == "test");
  CHECK(j["best"]["test_accuracy"] == j["epochs"][best - 1]["test_accuracy"]);
  CHECK(j["seconds"].get<double>() > 0);
}

TEST_CASE("imdb train: the same seed makes the same file, on one thread and on two", "[threads]") {
  const tests::TemporaryFolder folder;
  const auto data = folder.write("reviews.csv", tests::small_csv());
  const auto train = [&](const char* name, const std::vector<std::string>& more) {
    const auto path = folder.path() / name;
    std::vector<std::string> words{"train",        "--data", data.string(), "--epochs", "2",
                                   "--batch-size", "8",      "--quiet",     "--save",   path.string()};
    words.insert(words.end(), more.begin(), more.end());
    REQUIRE(run_imdb(words).status == 0);
    return bytes_of(path);
  };
  const std::string one = train("one", {"--threads", "1"});
  CHECK(train("two", {"--threads", "2"}) == one);
  CHECK(train("again", {"--threads", "1"}) == one);
  CHECK(train("other", {"--seed", "2"}) != one);
}

TEST_CASE("imdb train saves the best epoch by validation, and the last without one, never by the test") {
  const tests::TemporaryFolder folder;
  const auto data = folder.write("study.csv", tests::small_csv());
  // The validation says the opposite of the study pile, so the first epoch, which has learnt least, is its
  // best; the test says the same, so by the test it would be the last.
  std::string opposite = "review,sentiment\n";
  for (int i = 0; i < 5; ++i) opposite += "a good and clever film,negative\na dull and silly film,positive\n";
  const auto validation = folder.write("validation.csv", opposite);
  const auto train = [&](const char* name, int epochs, const std::vector<std::string>& more) {
    const auto path = folder.path() / name;
    std::vector<std::string> words{"train",
                                   "--data",
                                   data.string(),
                                   "--test",
                                   data.string(),
                                   "--max-len",
                                   "8",
                                   "--vocab-size",
                                   "30",
                                   "--batch-size",
                                   "4",
                                   "--learning-rate",
                                   "0.01",
                                   "--epochs",
                                   std::to_string(epochs),
                                   "--save",
                                   path.string()};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_imdb(words);
    REQUIRE(ran.status == 0);
    return std::make_pair(bytes_of(path), ran.out);
  };
  const std::vector<std::string> with_validation{"--validation", validation.string()};
  const auto [best, best_out] = train("best", 8, with_validation);
  CHECK_THAT(best_out, Says("validation loss "));
  CHECK_THAT(best_out, Says("Validation: 10 reviews (5 liked, 5 hated)"));
  CHECK_THAT(best_out, Says("Best epoch: 1 by validation accuracy"));
  CHECK_THAT(best_out, Says("epoch 1, the best by validation"));
  CHECK(best == train("first", 1, {}).first);
  const auto [last, last_out] = train("last", 8, {});
  CHECK_THAT(last_out, Says("the last epoch"));
  CHECK(last != best);
}

TEST_CASE("imdb train holds a share of the study pile out for validation") {
  const tests::TemporaryFolder folder;
  const auto data = folder.write("reviews.csv", tests::small_csv());
  const Ran ran =
      run_imdb(train_on(data, {"--test", data.string(), "--validation-split", "0.2", "--epochs", "1"}));
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out,
             Says("Study pile: 16 reviews (8 liked, 8 hated)\nExam: 20 reviews (10 liked, 10 hated)\n"
                  "Validation: 4 reviews (2 liked, 2 hated)"));
}

TEST_CASE("imdb train on the built-in pile says that it is synthetic") {
  const tests::TemporaryFolder folder;
  const auto model = folder.path() / "model";
  const Ran ran = run_imdb({"train", "--preset", "pencil", "--epochs", "1", "--save", model.string()});
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Says("The built-in pile is synthetic"));
  CHECK_THAT(ran.out, Says("Study pile: 6,000 reviews (3,000 liked, 3,000 hated)"));
  CHECK_THAT(run_imdb({"predict", "--model", model.string(), "It was good."}).err, Says("synthetic"));
  const auto data = folder.write("reviews.csv", tests::small_csv());
  CHECK_THAT(run_imdb({"evaluate", "--model", model.string(), "--data", data.string()}).out,
             Says("synthetic"));
}

TEST_CASE("imdb train fails before the work where something cannot be read or written") {
  const tests::TemporaryFolder folder;
  const auto data = folder.write("reviews.csv", tests::small_csv());
  const auto failed = [&](const std::vector<std::string>& words, const std::string& part) {
    const Ran ran = run_imdb(words);
    CHECK(ran.status == 1);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Says(part));
  };
  failed({"train", "--data", "/no/such/place"}, "no such file or folder: /no/such/place");
  failed(train_on(data, {"--save", "/no/such/place/model"}), "there is no folder /no/such/place");
  failed(train_on(data, {"--save", folder.path().string()}), "that is no regular file");
  failed(train_on(data, {"--metrics", "/no/such/place/m.json"}), "there is no folder /no/such/place");
  const auto bad = folder.write("bad.csv", "review,sentiment\nfine,positive\nodd,perhaps\n");
  failed(train_on(bad, {}), "line 3: label is \"perhaps\"");
}

TEST_CASE("imdb train never writes over the reviews that it reads, nor one file over the other") {
  const tests::TemporaryFolder folder;
  const auto data = folder.write("reviews.csv", tests::small_csv());
  const auto other = folder.write("other.csv", tests::small_csv());
  std::filesystem::create_hard_link(other, folder.path() / "link.csv");
  const std::string same = (folder.path() / "." / "reviews.csv").string();
  for (const auto& more : std::vector<std::vector<std::string>>{
           {"--save", data.string()},
           {"--metrics", same},
           {"--test", other.string(), "--save", (folder.path() / "link.csv").string()},
           {"--validation", other.string(), "--metrics", other.string()},
           {"--save", (folder.path() / "new").string(), "--metrics",
            (folder.path() / "." / "new").string()}}) {
    CAPTURE(more);
    const Ran ran = run_imdb(train_on(data, more));
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Says("name the same file"));
  }
  CHECK(bytes_of(data) == tests::small_csv());
  CHECK(bytes_of(other) == tests::small_csv());
}

TEST_CASE("imdb train: a batch is no larger than the study pile") {
  const tests::TemporaryFolder folder;
  const auto data = folder.write("reviews.csv", tests::small_csv());
  const Ran ran = run_imdb(train_on(data, {"--epochs", "1", "--batch-size", "1000000"}));
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Says("(16, "));
}

TEST_CASE("imdb train --skip-bad counts the rows it leaves out") {
  const tests::TemporaryFolder folder;
  const auto data = folder.write("reviews.csv", tests::small_csv() + "odd,perhaps\n");
  const Ran ran = run_imdb(train_on(data, {"--skip-bad", "--epochs", "1"}));
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Says("Left out bad rows: 1\n"));
  CHECK_THAT(ran.out, Says("line 22: label is \"perhaps\""));
}

TEST_CASE("imdb train: Ctrl-C ends it after the step, with the model saved") {
  const tests::TemporaryFolder folder;
  const auto data = folder.write("reviews.csv", tests::small_csv());
  const auto model = folder.path() / "model", metrics = folder.path() / "m.json";
  const std::vector<std::string> words =
      train_on(data, {"--epochs", "1000", "--save", model.string(), "--metrics", metrics.string()});
  const Ran ran = run_imdb(words, "", {}, "Epoch 2/1000");
  CHECK(ran.status == 130);
  CHECK_THAT(ran.err, Says("interrupted, ended after step 2; the model is saved"));
  CHECK_THAT(ran.out, Says("Saved to " + model.string() + ": the weights as they are now"));
  CHECK(json::parse(bytes_of(metrics))["epochs"].size() == 2);
  CHECK(run_imdb({"predict", "--model", model.string(), "good"}).status == 0);

  std::filesystem::remove(model);
  const Ran early = run_imdb(words, "", {}, "Total: ");
  CHECK(early.status == 130);
  CHECK_THAT(early.err, Says("before the first step; nothing was learned and nothing saved"));
  CHECK(!std::filesystem::exists(model));
}

TEST_CASE("imdb train: the progress bar") {
  const imdb::Standing standing{.epoch = 2,
                                .epochs = 5,
                                .done = 12800,
                                .items = 25600,
                                .loss = 0.4321,
                                .accuracy = 0.8125,
                                .speed = 6400};
  CHECK(imdb::progress_bar(standing, 120) ==
        "Epoch 2/5 [===============               ] 50 %  loss 0.4321  accuracy 0.8125  6400/s  14 s left");
  CHECK(imdb::progress_bar(standing, 79) ==
        "Epoch 2/5 [======       ] 50 %  loss 0.4321  accuracy 0.8125  6400/s  14 s left");
  CHECK(imdb::progress_bar(standing, 60) == "Epoch 2/5 50 %  loss 0.4321  accuracy 0.8125  6400/s  14 s l");
  for (const int columns : {0, 1, 20, 70, 79, 90})
    CHECK(imdb::progress_bar(standing, columns).size() <= static_cast<std::size_t>(columns));
}
