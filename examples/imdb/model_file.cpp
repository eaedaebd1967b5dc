#include "examples/imdb/model_file.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/kernels/optimizer.hpp"

namespace pencil::imdb {
namespace {

using nlohmann::json;

constexpr const char* format_name = "pencil imdb classifier, version 1";

std::string settings_text(const ModelSettings& s) {
  const ClassifierOptions& c = s.classifier;
  nlohmann::ordered_json j;
  j["arch"] = c.arch == Arch::bag ? "bag" : "attention";
  j["vocab_size"] = c.vocabulary;
  j["max_len"] = s.max_len;
  j["width"] = c.width;
  j["heads"] = c.heads;
  j["key_dim"] = c.key_width;
  j["hidden"] = c.hidden;
  j["dropout"] = c.dropout;
  j["positions"] = c.positions;
  j["mask"] = c.mask;
  j["keep"] = s.keep_last ? "last" : "first";
  j["drop_breaks"] = s.drop_breaks;
  j["synthetic"] = s.synthetic;
  return j.dump();
}

std::int64_t whole(const json& j, const char* key, std::int64_t low, std::int64_t high) {
  const json& value = j.at(key);
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX) &&
                    value.get<std::int64_t>() >= low && value.get<std::int64_t>() <= high;
  if (!fits) fail("{} is {}; need a whole number from {} to {}", key, value.dump(), low, high);
  return value.get<std::int64_t>();
}

/// Whether the second of two words stands there; throws for a third.
bool second(const json& j, const char* key, std::string_view first, std::string_view second) {
  const std::string value = j.at(key).get<std::string>();
  if (value != first && value != second) fail("{} is \"{}\"; need {} or {}", key, value, first, second);
  return value == second;
}

ModelSettings settings_of(const std::string& text) {
  const json j = json::parse(text);
  ModelSettings s;
  ClassifierOptions& c = s.classifier;
  c.arch = second(j, "arch", "attention", "bag") ? Arch::bag : Arch::attention;
  c.vocabulary = whole(j, "vocab_size", 2, Limits::vocabulary);
  s.max_len = whole(j, "max_len", 1, Limits::max_len);
  c.width = whole(j, "width", 1, Limits::width);
  c.heads = whole(j, "heads", 1, Limits::heads);
  c.key_width = whole(j, "key_dim", 1, Limits::key_width);
  c.hidden = whole(j, "hidden", 1, Limits::hidden);
  c.dropout = j.at("dropout").get<double>();
  c.positions = j.at("positions").get<bool>();
  c.mask = j.at("mask").get<bool>();
  s.keep_last = second(j, "keep", "first", "last");
  s.drop_breaks = j.at("drop_breaks").get<bool>();
  s.synthetic = j.at("synthetic").get<bool>();
  return s;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += word;
    text += '\n';
  }
  return text;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) fail("the dictionary's last line has no end");
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

void check_shape(const TensorFile& file, const char* name, const Shape& needed) {
  const Tensor& tensor = file.at(name);
  if (tensor.shape() != needed) fail("{} is {}; the settings ask for {}", name, tensor.shape(), needed);
}

void check_finite(const nn::NamedTensor& weights) {
  const std::int64_t place =
      kernels::first_not_finite(weights.tensor.size(), weights.tensor.values<float>().data());
  if (place >= 0) fail("{} is infinite or NaN at place {}; need finite numbers", weights.name, place);
}

const std::string& entry(const TensorFile& file, const char* key) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) fail("its metadata has no \"{}\"", key);
  return found->second;
}

Model model_of(const TensorFile& file) {
  ModelSettings settings = settings_of(entry(file, "settings"));
  nn::text::Dictionary dictionary(lines_of(entry(file, "dictionary")));
  const ClassifierOptions& c = settings.classifier;
  if (dictionary.size() > c.vocabulary)
    fail("the dictionary has {} words, but vocab_size is {}", dictionary.size() - 1, c.vocabulary);
  // The large ones, before a model of the size that the settings claim is made.
  check_shape(file, "embed.weight", {c.vocabulary, c.width});
  check_shape(file, "dense1.weight", {c.hidden, c.width});
  if (c.arch == Arch::attention) check_shape(file, "attend.query.weight", {c.heads * c.key_width, c.width});
  Classifier classifier(c);
  nn::load(classifier, file);
  for (const nn::NamedTensor& each : nn::named_parameters(classifier)) check_finite(each);
  return {std::move(settings), std::move(dictionary), std::move(classifier)};
}

}  // namespace

void save_model(Model& model, const std::filesystem::path& path) {
  nn::save(model.classifier, path,
           {{"format", format_name},
            {"settings", settings_text(model.settings)},
            {"dictionary", joined(model.dictionary.words())}});
}

Model load_model(const std::filesystem::path& path) {
  const TensorFile file = load_safetensors(path);
  const auto format = file.metadata.find("format");
  if (format == file.metadata.end() || format->second != format_name)
    fail("[model] {}: no model of this program: its metadata does not say format \"{}\"", path.string(),
         format_name);
  try {
    return model_of(file);
  } catch (const Error& error) {
    fail("[model] {}: {}", path.string(), error.what());
  } catch (const json::exception& error) {
    fail("[model] {}: its settings are no settings of ours: {}", path.string(), error.what());
  }
}

}  // namespace pencil::imdb
