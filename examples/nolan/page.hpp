#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/autograd.hpp"

namespace pencil::nolan {

/// Numbers as NumPy prints an array rounded to three places; long ones by their ends.
std::string numbers(const Tensor& x);

/// The printed page: lines of text, and labels under which numbers and later their blame stand.
class Page {
 public:
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    text_ += fmt::format(text, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }
  /// Calls a tensor by this label from now on.
  void label(const std::string& label, const Tensor& x) { labels_.emplace_back(label, x); }
  /// Labels a tensor and prints its numbers beside the label.
  void row(const std::string& label, const Tensor& x);
  /// The blame of every step that has some, from the last step back to the first; steps without a label go by
  /// their word, and a number and its rounding share a line.
  void blame(const Tape& tape);

  std::string take() { return std::move(text_); }

 private:
  void beside(std::string_view label, const Tensor& x);

  std::string text_;
  std::vector<std::pair<std::string, Tensor>> labels_;
};

}  // namespace pencil::nolan
