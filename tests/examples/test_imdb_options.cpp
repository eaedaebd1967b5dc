#include <algorithm>

#include "examples/imdb/options.hpp"
#include "tests/catch.hpp"
#include "tests/examples/imdb_for_tests.hpp"

using namespace pencil;
using namespace pencil::imdb;
using tests::run_imdb;

namespace {

TrainOptions parsed_train(const std::vector<std::string>& words) {
  std::vector<std::string> all{"train"};
  all.insert(all.end(), words.begin(), words.end());
  return std::get<TrainOptions>(parse_command(all));
}

}  // namespace

TEST_CASE("imdb train: the documents' settings are the defaults") {
  const TrainOptions o = parsed_train({"--data", "reviews"});
  CHECK(o.data == fs::path("reviews"));
  CHECK(o.epochs == 5);
  CHECK(o.batch_size == 64);
  CHECK(o.learning_rate == 0.001);
  CHECK(o.threads == 0);
  CHECK(o.model.max_len == 100);
  CHECK(!o.model.keep_last);
  CHECK(!o.model.drop_breaks);
  CHECK(!o.model.synthetic);
  const ClassifierOptions& c = o.model.classifier;
  CHECK(c.arch == Arch::attention);
  CHECK(c.vocabulary == 10000);
  CHECK(c.width == 32);
  CHECK(c.heads == 2);
  CHECK(c.key_width == 32);
  CHECK(c.hidden == 20);
  CHECK(c.dropout == 0.1);
  CHECK(c.seed == 1);
  CHECK(!c.positions);
  CHECK(!c.mask);
  CHECK(c.init == nn::Init::keras);
}

TEST_CASE("imdb train: every option arrives") {
  const TrainOptions o = parsed_train({"--data=d",
                                       "--test",
                                       "t",
                                       "--validation-split",
                                       "0.25",
                                       "--arch",
                                       "bag",
                                       "--epochs=7",
                                       "--width",
                                       "6",
                                       "--batch-size",
                                       "9",
                                       "--vocab-size",
                                       "11",
                                       "--max-len",
                                       "13",
                                       "--heads",
                                       "3",
                                       "--key-dim",
                                       "5",
                                       "--hidden",
                                       "17",
                                       "--dropout=0",
                                       "--seed",
                                       "18446744073709551615",
                                       "--threads",
                                       "2",
                                       "--keep",
                                       "last",
                                       "--positions",
                                       "--mask",
                                       "--init",
                                       "keras-legacy",
                                       "--drop-breaks",
                                       "--skip-bad",
                                       "--save",
                                       "s",
                                       "--metrics",
                                       "m",
                                       "--quiet",
                                       "--learning-rate",
                                       "2e-3"});
  CHECK(o.data == fs::path("d"));
  CHECK(o.test == fs::path("t"));
  CHECK(o.validation_split == 0.25);
  CHECK(o.epochs == 7);
  CHECK(o.batch_size == 9);
  CHECK(o.learning_rate == 2e-3);
  CHECK(o.threads == 2);
  CHECK(o.skip_bad);
  CHECK(o.save == fs::path("s"));
  CHECK(o.metrics == fs::path("m"));
  CHECK(o.quiet);
  CHECK(o.model.max_len == 13);
  CHECK(o.model.keep_last);
  CHECK(o.model.drop_breaks);
  const ClassifierOptions& c = o.model.classifier;
  CHECK(c.arch == Arch::bag);
  CHECK(c.vocabulary == 11);
  CHECK(c.width == 6);
  CHECK(c.heads == 3);
  CHECK(c.key_width == 5);
  CHECK(c.hidden == 17);
  CHECK(c.dropout == 0);
  CHECK(c.seed == 18446744073709551615u);
  CHECK(c.positions);
  CHECK(c.mask);
  CHECK(c.init == nn::Init::keras_legacy);
}

TEST_CASE("imdb train: the built-in pile brings settings of its own, the preset too, and options win") {
  const TrainOptions pile = parsed_train({});
  CHECK(pile.model.synthetic);
  CHECK(pile.epochs == 40);
  CHECK(pile.model.max_len == 32);
  CHECK(pile.model.classifier.positions);
  CHECK(!parsed_train({"--no-positions"}).model.classifier.positions);
  CHECK(!parsed_train({"--arch", "bag"}).model.classifier.positions);
  CHECK(parsed_train({"--epochs", "3"}).epochs == 3);

  const TrainOptions preset = parsed_train({"--preset", "pencil", "--hidden", "6"});
  CHECK(preset.model.classifier.width == 4);
  CHECK(preset.model.classifier.heads == 1);
  CHECK(preset.model.max_len == 8);
  CHECK(preset.model.classifier.hidden == 6);
}

TEST_CASE("imdb: wrong usage is one line that names the option, its value and what is allowed") {
  const auto refused = [](const std::vector<std::string>& words, const std::string& part) {
    const tests::Ran ran = run_imdb(words);
    CAPTURE(words, part);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Says(part));
    CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
  };
  refused({}, "there is no command");
  refused({"learn"}, "'learn' is no command");
  refused({"tra"}, "'tra' is no command");
  refused({"train", "--epoch", "3"}, "unrecognised option '--epoch'");
  refused({"train", "--Epochs", "3"}, "unrecognised option '--Epochs'");
  refused({"train", "--epochs"}, "the required argument for option '--epochs' is missing");
  refused({"train", "--epochs", "1", "--epochs", "2"}, "'--epochs' cannot be specified more than once");
  refused({"train", "--mask", "--mask"}, "'--mask' cannot be specified more than once");
  refused({"train", "--mask=1"}, "'--mask' does not take any arguments");
  refused({"train", "reviews"}, "unexpected \"reviews\"");
  refused({"train", "--", "--mask"}, "unexpected \"--mask\"");
  refused({"train", "--epochs", "0"}, "--epochs is \"0\"; need a whole number from 1 to 1000000");
  refused({"train", "--epochs", "-1"}, "--epochs is \"-1\"");
  refused({"train", "--epochs", "2.5"}, "--epochs is \"2.5\"");
  refused({"train", "--epochs", "5x"}, "--epochs is \"5x\"");
  refused({"train", "--epochs", " 5"}, "--epochs is \" 5\"");
  refused({"train", "--epochs", ""}, "--epochs is \"\"");
  refused({"train", "--epochs", "99999999999999999999"}, "--epochs is \"99999999999999999999\"");
  refused({"train", "--batch-size", "0"}, "--batch-size is \"0\"; need a whole number from 1");
  refused({"train", "--vocab-size", "1"}, "--vocab-size is \"1\"; need a whole number from 2");
  refused({"train", "--max-len", "0"}, "--max-len is \"0\"; need a whole number from 1");
  refused({"train", "--width", "0"}, "--width is \"0\"; need a whole number from 1");
  refused({"train", "--heads", "0"}, "--heads is \"0\"");
  refused({"train", "--key-dim", "0"}, "--key-dim is \"0\"");
  refused({"train", "--hidden", "0"}, "--hidden is \"0\"");
  refused({"train", "--threads", "0"}, "--threads is \"0\"; need a whole number from 1");
  refused({"train", "--seed", "-1"}, "--seed is \"-1\"; need a whole number from 0");
  refused({"train", "--dropout", "1"}, "--dropout is \"1\"; need a number from 0 and below 1");
  refused({"train", "--dropout", "nan"}, "--dropout is \"nan\"");
  refused({"train", "--learning-rate", "0"},
          "--learning-rate is \"0\"; need a number above 0 and up to 1000");
  refused({"train", "--learning-rate", "inf"}, "--learning-rate is \"inf\"");
  refused({"train", "--learning-rate", "0,001"}, "--learning-rate is \"0,001\"");
  refused({"train", "--validation-split", "1"},
          "--validation-split is \"1\"; need a number above 0 and below 1");
  refused({"train", "--arch", "rnn"}, "--arch is \"rnn\"; need attention or bag");
  refused({"train", "--keep", "middle"}, "--keep is \"middle\"; need first or last");
  refused({"train", "--init", "zeros"}, "--init is \"zeros\"; need keras or keras-legacy");
  refused({"train", "--preset", "pen"}, "--preset is \"pen\"; need pencil");
  refused({"train", "--save", "f", "--metrics", "f"}, "--save and --metrics name the same file");
  refused({"train", "--odd\nname\xff"}, "unrecognised option '--odd name '");
  refused({"train", "--test", "t"}, "--test needs --data");
  refused({"train", "--validation", "v"}, "--validation needs --data");
  refused({"train", "--data", ""}, "--data is \"\"; need a path");
  refused({"train", "--positions", "--no-positions"}, "exclude each other");
  refused({"train", "--data", "d", "--validation", "v", "--validation-split", ".1"}, "exclude each other");
  refused({"evaluate", "--data", "d"}, "--model is missing");
  refused({"evaluate", "--model", "m"}, "--data is missing");
  refused({"predict", "text"}, "--model is missing");
  refused({"predict", "--model", "m", "one", "two"}, "unexpected \"two\": there is one text already");
  refused({"explain", "--model", "m"}, "there is no text to explain");
  refused({"explain", "--model", "m", "--label", "2", "text"}, "--label is \"2\"; need 0 or 1");
  refused({"glossary", "pencil"}, "unexpected \"pencil\"");
}

TEST_CASE("imdb: help and version") {
  for (const char* flag : {"-h", "--help"}) {
    const tests::Ran overview = run_imdb({flag});
    CHECK(overview.status == 0);
    CHECK_THAT(overview.out, Says("Usage: imdb COMMAND"));
    for (const char* command : {"train", "evaluate", "predict", "explain", "glossary"}) {
      CHECK_THAT(overview.out, Says(command));
      const tests::Ran ran = run_imdb({command, flag});
      CHECK(ran.status == 0);
      CHECK(ran.err.empty());
      CHECK_THAT(ran.out, Says(std::string("Usage: imdb ") + command));
      CHECK_THAT(ran.out, Says("--quiet"));
    }
  }
  CHECK(run_imdb({"help", "train"}).out == run_imdb({"train", "--help"}).out);
  CHECK(run_imdb({"help"}).out == run_imdb({"--help"}).out);
  CHECK(run_imdb({"--version"}).out.substr(0, 5) == "imdb ");
  CHECK(run_imdb({"train", "--version"}).out == run_imdb({"--version"}).out);
}
