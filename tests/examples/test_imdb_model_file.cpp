#include <cmath>
#include <nlohmann/json.hpp>

#include "autograd/autograd.hpp"
#include "autograd/files/safetensors.hpp"
#include "examples/imdb/model_file.hpp"
#include "nn/text/utf8.hpp"
#include "tests/catch.hpp"
#include "tests/examples/folder_for_tests.hpp"
#include "tests/examples/imdb_for_tests.hpp"

using namespace pencil;
using nlohmann::json;

namespace {

imdb::Model small_model() {
  imdb::ModelSettings settings;
  settings.classifier = {
      .vocabulary = 5, .width = 4, .heads = 1, .key_width = 4, .hidden = 3, .positions = true};
  settings.max_len = 6;
  settings.keep_last = true;
  settings.drop_breaks = true;
  nn::text::Dictionary dictionary(std::vector<std::string>{"the", "caf\xC3\xA9", "don't"});
  return {settings, std::move(dictionary), imdb::Classifier(settings.classifier)};
}

}  // namespace

TEST_CASE("a model comes back from its file as it was") {
  const tests::TemporaryFolder folder;
  const auto path = folder.path() / "model.safetensors";
  imdb::Model model = small_model();
  imdb::save_model(model, path);
  const imdb::Model back = imdb::load_model(path);
  CHECK(back.dictionary.words() == model.dictionary.words());
  CHECK(back.settings.max_len == 6);
  CHECK(back.settings.keep_last);
  CHECK(back.settings.drop_breaks);
  CHECK(!back.settings.synthetic);
  CHECK(back.settings.classifier.positions);
  CHECK(back.settings.classifier.hidden == 3);
  const Tensor tokens = tensor({{1, 2, 3, 0, 0, 0}}, i32);
  CHECK(back.classifier(tokens).item() == model.classifier(tokens).item());
}

TEST_CASE("a file that is no model of ours, or does not fit itself, is refused with the reason") {
  const tests::TemporaryFolder folder;
  const auto path = folder.path() / "model.safetensors";
  imdb::Model model = small_model();
  imdb::save_model(model, path);
  const TensorFile good = load_safetensors(path);

  const auto refused = [&](const TensorFile& file, const std::string& part) {
    save_safetensors(path, file);
    CHECK_THROWS_WITH(imdb::load_model(path), Says(part));
    const tests::Ran ran = tests::run_imdb({"predict", "--model", path.string(), "the"});
    CHECK(ran.status == 1);
    CHECK_THAT(ran.err, Says(path.string()));
  };
  const auto with_setting = [&](const char* key, const json& value) {
    TensorFile file = good;
    json settings = json::parse(file.metadata.at("settings"));
    settings[key] = value;
    file.metadata["settings"] = settings.dump();
    return file;
  };
  const auto with_entry = [&](const char* key, const std::string& value) {
    TensorFile file = good;
    file.metadata[key] = value;
    return file;
  };
  const auto without_entry = [&](const char* key) {
    TensorFile file = good;
    file.metadata.erase(key);
    return file;
  };

  refused(without_entry("format"), "no model of this program");
  refused(with_entry("format", "pencil imdb classifier, version 2"), "no model of this program");
  refused(without_entry("settings"), "no \"settings\"");
  refused(without_entry("dictionary"), "no \"dictionary\"");
  refused(with_entry("settings", "{"), "its settings are no settings of ours");
  refused(with_entry("settings", "[]"), "its settings are no settings of ours");
  refused(with_entry("settings", std::string(100'000, '[')), "its settings are no settings of ours");
  refused(with_entry("settings", "{}"), "its settings are no settings of ours");
  refused(with_setting("width", 0), "width is 0; need a whole number from 1 to 4096");
  refused(with_setting("width", 4.5), "width is 4.5");
  refused(with_setting("width", -1), "width is -1");
  refused(with_setting("width", 18446744073709551615u), "width is 18446744073709551615");
  refused(with_setting("width", "4"), "width is \"4\"");
  refused(with_setting("width", 5), "embed.weight is (5, 4); the settings ask for (5, 5)");
  refused(with_setting("vocab_size", 10'000'000), "embed.weight is (5, 4)");
  refused(with_setting("hidden", 65'536), "dense1.weight is (3, 4)");
  refused(with_setting("key_dim", 4096), "attend.query.weight is (4, 4)");
  refused(with_setting("max_len", 1'000'000'000), "max_len is 1000000000");
  refused(with_setting("arch", "rnn"), "arch is \"rnn\"; need attention or bag");
  refused(with_setting("arch", "bag"), "unexpected: attend.query.weight");
  refused(with_setting("mask", 1), "its settings are no settings of ours");
  refused(with_setting("dropout", 7), "rate");
  refused(with_entry("dictionary", "the\nthe\n"), "the");
  refused(with_entry("dictionary", "the\n\n"), "empty");
  refused(with_entry("dictionary", "the"), "the dictionary's last line has no end");
  refused(with_entry("dictionary", "a\nb\nc\nd\ne\n"), "the dictionary has 5 words, but vocab_size is 5");
  TensorFile fewer = good;
  fewer.tensors.pop_back();
  refused(fewer, "missing: dense2.bias (1)");
  TensorFile odd = good;
  for (auto& [name, weights] : odd.tensors)
    if (name == "dense1.bias") weights = tensor({0.5, std::nan(""), 0.0}, f32);
  refused(odd, "dense1.bias is infinite or NaN at place 1; need finite numbers");
  TensorFile none = good;
  none.tensors.clear();
  refused(none, "embed.weight");
}

TEST_CASE("weights so large that nothing comes of them give no verdict") {
  const tests::TemporaryFolder folder;
  const auto path = folder.path() / "model.safetensors";
  imdb::Model model = small_model();
  imdb::save_model(model, path);
  TensorFile file = load_safetensors(path);
  for (auto& [name, weights] : file.tensors)
    if (name == "dense1.bias" || name == "dense2.weight") weights = full(weights.shape(), 1e38, f32);
  save_safetensors(path, file);
  const auto data = folder.write("reviews.csv", "review,label\nthe,0\n");
  const tests::Ran judged = tests::run_imdb({"predict", "--json", "--model", path.string(), "the"});
  CHECK(judged.status == 1);
  CHECK(judged.out.empty());
  CHECK_THAT(judged.err, Says("[predict] the logit is no finite number"));
  const tests::Ran exam =
      tests::run_imdb({"evaluate", "--json", "--model", path.string(), "--data", data.string()});
  CHECK(exam.status == 1);
  CHECK(exam.out.empty());
  CHECK_THAT(exam.err, Says("[evaluate] the loss is no finite number"));
  const tests::Ran tape = tests::run_imdb({"explain", "--model", path.string(), "the"});
  CHECK(tape.status == 0);
  CHECK_THAT(tape.out, Says("Verdict: none, the logit is no finite number\n"));
}

TEST_CASE("what a broken file holds reaches the terminal as well-formed text without controls") {
  const tests::TemporaryFolder folder;
  std::string header = "{\"a\":\xff\x1b[31m";
  header.resize(16, ' ');
  const auto path = folder.write("model", std::string("\x10\0\0\0\0\0\0\0", 8) + header);
  std::string err = tests::run_imdb({"predict", "--model", path.string(), "good\x1b"}).err;
  CHECK_THAT(err, Says("header is no JSON"));
  CHECK(err.find('\x1b') == std::string::npos);
  CHECK(nn::text::replace_broken_bytes(err) == 0);
}

TEST_CASE("imdb predict: a model file that is not there, no safetensors file, or cut short") {
  const tests::TemporaryFolder folder;
  const auto failed = [&](const std::filesystem::path& path) {
    const tests::Ran ran = tests::run_imdb({"predict", "--model", path.string(), "good"});
    CHECK(ran.status == 1);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Says(path.string()));
  };
  failed(folder.path() / "none");
  failed(folder.path());
  failed(folder.write("empty", ""));
  failed(folder.write("text", "this is a text and no model at all"));
  failed(folder.write("long", std::string(8, '\xff') + "{}"));
}
