#pragma once

#include <filesystem>

#include "examples/imdb/classifier.hpp"
#include "nn/text/text.hpp"

namespace pencil::imdb {

/// The largest values that options and model files may have: far beyond use, and small enough that no product
/// of them overflows.
struct Limits {
  static constexpr std::int64_t vocabulary = 10'000'000, max_len = 10'000, width = 4096, heads = 256,
                                key_width = 4096, hidden = 65'536;
};

/// Everything that turns a text into a verdict but the weights and the dictionary.
struct ModelSettings {
  ClassifierOptions classifier;
  std::int64_t max_len = 100;
  bool keep_last = false;    ///< of a long review the last words stay, not the first
  bool drop_breaks = false;  ///< <br /> leaves no word
  bool synthetic = false;    ///< learned from the built-in pile

  nn::text::Padding padding() const { return keep_last ? nn::text::keep_last : nn::text::keep_first; }
  nn::text::TokenizerOptions tokenizer() const { return {.drop_breaks = drop_breaks}; }
};

/// What `imdb train --save` writes and the other commands read.
struct Model {
  ModelSettings settings;
  nn::text::Dictionary dictionary;
  Classifier classifier;
};

/// One safetensors file: the weights, and as metadata the settings (JSON) and the dictionary (a word a line).
/// The same model makes the same bytes.
void save_model(Model& model, const std::filesystem::path& path);

/// Throws Error, with the path, for a file that is none of ours, and for settings, dictionary and weights
/// that do not fit each other or are not finite; nothing of a size that the file merely claims is allocated.
Model load_model(const std::filesystem::path& path);

}  // namespace pencil::imdb
