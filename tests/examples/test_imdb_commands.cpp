#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "examples/imdb/judge.hpp"
#include "examples/imdb/listening.hpp"
#include "tests/catch.hpp"
#include "tests/examples/folder_for_tests.hpp"
#include "tests/examples/imdb_for_tests.hpp"

using namespace pencil;
using nlohmann::json;
using tests::Ran;
using tests::run_imdb;
using tests::Trained;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("imdb predict: a line with the verdict, the chance and the words listened to most") {
  const Trained trained;
  const Ran good = run_imdb({"predict", "--model", trained.model(), "A clever, GOOD film!"});
  CHECK(good.status == 0);
  CHECK(good.err.empty());
  CHECK_THAT(good.out, Says("liked  chance "));
  CHECK_THAT(good.out, Says("listened to: "));
  CHECK_THAT(good.out, Says("clever 0."));
  CHECK_THAT(good.out, Says("padding 0."));
  CHECK(lines_of(good.out).size() == 1);
  CHECK_THAT(run_imdb({"predict", "--model", trained.model(), "a dull and silly film"}).out,
             Says("hated  chance "));
  const Ran quiet = run_imdb({"predict", "--quiet", "--model", trained.model(), "a dull and silly film"});
  CHECK(quiet.out.find("listened") == std::string::npos);
}

TEST_CASE("imdb predict: the fractions of all words and the padding's share add up to one") {
  const Trained trained;
  const Ran ran =
      run_imdb({"predict", "--json", "--model", trained.model(), "good film, good film: clever film?"});
  const json j = json::parse(ran.out);
  CHECK(j["verdict"] == "liked");
  CHECK(j["known_words"] == 6);
  CHECK(j["text"] == "good film, good film: clever film?");
  REQUIRE(j["words"].size() == 3);
  double sum = j["padding"].get<double>(), before = 1;
  for (const json& each : j["words"]) {
    sum += each["fraction"].get<double>();
    CHECK(each["fraction"].get<double>() <= before);
    before = each["fraction"].get<double>();
    CHECK(each["count"] == (each["word"] == "film" ? 3 : each["word"] == "good" ? 2 : 1));
  }
  CHECK(sum == Approx(1).epsilon(1e-5));
  CHECK(j["padding"].get<double>() > 0);
}

TEST_CASE("imdb predict: fractions are the mean over the heads and the rows of real words") {
  const Trained trained;
  const imdb::Model model = imdb::load_model(trained.model());
  const imdb::Slots slots = imdb::slots_of(model, "good dull film");
  CHECK(slots.known == 3);
  const Tensor weights = model.classifier.weights(slots.tokens());
  REQUIRE(weights.shape() == Shape{1, 2, 8, 8});
  const auto w = weights.values<float>();
  const auto received = [&](std::size_t key) {
    double sum = 0;
    for (std::size_t head = 0; head < 2; ++head)
      for (std::size_t row = 0; row < 3; ++row) sum += static_cast<double>(w[(head * 8 + row) * 8 + key]);
    return sum / 6;
  };
  const imdb::Listening listening = imdb::listening_of(model, slots);
  REQUIRE(listening.words.size() == 3);
  for (const imdb::Listened& each : listening.words)
    CHECK(each.fraction == Approx(received(each.word == "good" ? 0 : each.word == "dull" ? 1 : 2)));
  CHECK(listening.padding == Approx(received(3) + received(4) + received(5) + received(6) + received(7)));
}

TEST_CASE("imdb predict: with masks the padding receives nothing") {
  const Trained trained({"--mask"});
  const json j = json::parse(run_imdb({"predict", "--json", "--model", trained.model(), "a good film"}).out);
  CHECK(j["padding"] == 0.0);
  CHECK(j["verdict"] == "liked");
}

TEST_CASE("imdb predict: a review a line on standard input") {
  const Trained trained;
  const Ran ran = run_imdb({"predict", "--model", trained.model()},
                           "good clever\r\n\ndull silly\nno newline at the end, good");
  CHECK(ran.status == 0);
  const std::vector<std::string> lines = lines_of(ran.out);
  REQUIRE(lines.size() == 4);
  CHECK_THAT(lines[0], Says("liked"));
  CHECK_THAT(lines[1], Says("no known word in it"));
  CHECK_THAT(lines[2], Says("hated"));
  CHECK_THAT(lines[3], Says("liked"));
  CHECK(run_imdb({"predict", "--model", trained.model()}, "").out.empty());
  for (const std::string& line :
       lines_of(run_imdb({"predict", "--json", "--model", trained.model()}, "good\ndull\n").out))
    CHECK(json::parse(line).contains("verdict"));
}

TEST_CASE("imdb predict: texts without a known word get a finite chance") {
  const Trained plain, masked({"--mask"});
  for (const Trained* trained : {&plain, &masked})
    for (const char* text : {"", "!!!", "zyzzyva qwerty", "<br />"}) {
      const json j = json::parse(run_imdb({"predict", "--json", "--model", trained->model(), text}).out);
      CHECK(j["known_words"] == 0);
      CHECK(j["words"].empty());
      const double chance = j["chance"].get<double>();
      CHECK(chance > 0);
      CHECK(chance < 1);
      CHECK_THAT(run_imdb({"predict", "--model", trained->model(), text}).out, Says("no known word in it"));
    }
}

TEST_CASE("imdb predict: hostile texts") {
  const Trained trained;
  std::string broken = "good \xE2\x80 film \xC0\xAF \xFF";
  broken += '\0';
  for (const std::string& text : {broken, std::string(200'000, 'x'), std::string(100'000, ' ') + "good",
                                  std::string("\"quotes\" and \\ and \x01")}) {
    const Ran ran = run_imdb({"predict", "--json", "--model", trained.model()}, text);
    CHECK(ran.status == 0);
    CHECK(json::accept(ran.out));
    CHECK(run_imdb({"predict", "--model", trained.model()}, text).status == 0);
    CHECK(run_imdb({"explain", "--model", trained.model(), text}).status == 0);
  }
}

TEST_CASE("imdb predict: -- ends options, and no text on a terminal is wrong usage") {
  const Trained trained;
  CHECK_THAT(run_imdb({"predict", "--model", trained.model(), "--", "--good film--"}).out, Says("liked"));
  const Ran ran = run_imdb({"predict", "--model", trained.model()}, "", {.in = true});
  CHECK(ran.status == 2);
  CHECK_THAT(ran.err, Says("standard input is a terminal"));
}

TEST_CASE("imdb predict: a bag says that it has no attention") {
  const Trained bag({"--arch", "bag"});
  CHECK_THAT(run_imdb({"predict", "--model", bag.model(), "a good film"}).out, Says("liked"));
  CHECK_THAT(run_imdb({"predict", "--model", bag.model(), "a good film"}).out,
             Says("a bag has no attention"));
  CHECK(!json::parse(run_imdb({"predict", "--json", "--model", bag.model(), "a good film"}).out)
             .contains("words"));
}

TEST_CASE("imdb evaluate: accuracy, loss and who was judged how") {
  const Trained trained;
  const auto data = trained.folder().write(
      "other.csv", "label,text\n1,good clever\n1,clever good\n1,dull silly\n0,silly dull\n0,good clever\n");
  const Ran ran = run_imdb({"evaluate", "--model", trained.model(), "--data", data.string()});
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Says("Exam: 5 reviews (3 liked, 2 hated)"));
  CHECK_THAT(ran.out, Says("Accuracy 0.6000, loss "));
  CHECK_THAT(ran.out, Says("really liked            2            1\n"));
  CHECK_THAT(ran.out, Says("really hated            1            1\n"));

  const json j =
      json::parse(run_imdb({"evaluate", "--json", "--model", trained.model(), "--data", data.string()}).out);
  CHECK(j["reviews"] == 5);
  CHECK(j["accuracy"] == 0.6);
  CHECK(j["confusion"]["liked"]["judged_liked"] == 2);
  CHECK(j["confusion"]["liked"]["judged_hated"] == 1);
  CHECK(j["confusion"]["hated"]["judged_liked"] == 1);
  CHECK(j["confusion"]["hated"]["judged_hated"] == 1);
  CHECK(j["loss"].get<double>() > 0);

  const Ran quiet = run_imdb({"evaluate", "--quiet", "--model", trained.model(), "--data", data.string()});
  CHECK(lines_of(quiet.out).size() == 1);
}

TEST_CASE("imdb evaluate reads the test part of a folder, and agrees with what training measured") {
  const tests::TemporaryFolder folder;
  for (int i = 0; i < 6; ++i) {
    const std::string name = std::to_string(i) + ".txt";
    folder.write("train/pos/" + name, "good clever");
    folder.write("train/neg/" + name, "dull silly");
    folder.write("test/pos/" + name, i < 3 ? "clever" : "good dull");
    folder.write("test/neg/" + name, "silly");
  }
  const auto model = folder.path() / "model", metrics = folder.path() / "m.json";
  REQUIRE(run_imdb({"train", "--data", folder.path().string(), "--preset", "pencil", "--epochs", "20",
                    "--save", model.string(), "--metrics", metrics.string()})
              .status == 0);
  const json measured = json::parse(std::ifstream(metrics))["epochs"].back();
  const json j = json::parse(
      run_imdb({"evaluate", "--json", "--model", model.string(), "--data", folder.path().string()}).out);
  CHECK(j["reviews"] == 12);
  CHECK(j["accuracy"] == measured["test_accuracy"]);
  CHECK(j["loss"].get<double>() == Approx(measured["test_loss"].get<double>()).epsilon(1e-12));
}

TEST_CASE("imdb evaluate judges the same whatever stands in the same batch") {
  const Trained trained;
  const imdb::Model model = imdb::load_model(trained.model());
  std::vector<imdb::Review> reviews;
  for (int i = 0; i < 1030; ++i)
    reviews.push_back({i % 3 == 0 ? "good film" : "dull number", i % 3 == 0 ? 1 : 0});
  const imdb::Judgement judgement =
      imdb::judge(model.classifier, imdb::encode(reviews, model.dictionary, model.settings));
  CHECK(judgement.accuracy == 1);
  CHECK(judgement.table[1][1] == 344);
  CHECK(judgement.table[0][0] == 686);
}

TEST_CASE("imdb explain: the tape of a review in the pencil's words") {
  const Trained trained({"--preset", "pencil"});
  const Ran without = run_imdb({"explain", "--model", trained.model(), "A good film"});
  CHECK(without.status == 0);
  CHECK_THAT(without.out, Says("Slots: 1 a, 2 good, 3 film, 4–8 padding"));
  CHECK_THAT(without.out, Says("Verdict: "));
  CHECK_THAT(without.out, Says("Blame starts at the logit"));
  for (const char* word : {"TABLE", "SHEET", "WANT-grid", "WANT ", "HAVE ", "GIVE ", "MATCH", "SCALE",
                           "FRACTIONS", "NEW STICK", "BLEND", "COLLAPSE", "CHANCE", "WORKERS", "BLAME"})
    CHECK_THAT(without.out, Says(word));
  CHECK(without.out.find("WRONGNESS") == std::string::npos);

  const Ran with = run_imdb({"explain", "--model", trained.model(), "--label", "0", "A good film"});
  CHECK_THAT(with.out, Says("Blame starts at the wrongness, "));
  CHECK_THAT(with.out, Says("for tick 0"));
  CHECK_THAT(with.out, Says("WRONGNESS"));
  CHECK(run_imdb({"explain", "--model", trained.model(), "--label", "0", "A good film"}).out == with.out);
  CHECK(
      with.out.find(
          run_imdb({"explain", "--quiet", "--model", trained.model(), "--label", "0", "A good film"}).out) !=
      std::string::npos);
  CHECK_THAT(run_imdb({"explain", "--model", trained.model(), "zyzzyva"}).out,
             Says("No word of it is in the dictionary"));
}

TEST_CASE("imdb glossary: three columns of words") {
  const Ran ran = run_imdb({"glossary"});
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Says("textbook"));
  CHECK_THAT(ran.out, Says("WANT"));
  CHECK_THAT(ran.out, Says("carry"));
  CHECK_THAT(ran.out, Says("WRONGNESS"));
}
