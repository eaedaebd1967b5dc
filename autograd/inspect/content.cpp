#include "autograd/inspect/content.hpp"

#include <algorithm>

#include "autograd/inspect/memory.hpp"

namespace pencil::inspect {

namespace {

const DumpOptions& checked(const DumpOptions& options) {
  if (options.fold < 0)
    fail("[dump] .fold is {}; need the depth of the modules to fold, or 0 for a line a step", options.fold);
  if (options.width < 0)
    fail("[dump] .width is {}; need the columns a line may take, or 0 for any number", options.width);
  return options;
}

}  // namespace

Content::Content(const Tape& tape, const DumpOptions& options)
    : tape_(tape),
      fold_(checked(options).fold),
      facts_(tape),
      shown_(selected(tape, options.filter, options.glossary)),
      lines_(lines_of(tape, shown_, options.fold)) {
  if (!options.bytes) return;
  const std::vector<StepBytes> each = memory(tape).steps;
  bytes_.push_back(0);
  for (const int number : shown_)
    bytes_.push_back(bytes_.back() + each[static_cast<std::size_t>(number)].total());
}

std::vector<int> Content::read_by_module(const Line& line) const {
  const int first = step(line.last_time()).number();
  std::vector<int> read;
  for (int position = line.last_time(); position <= line.last; ++position) {
    const Step inside = step(position);
    for (int i = 0; i < inside.inputs(); ++i)
      if (const int from = inside.input_step(i); from >= 0 && from < first) read.push_back(from);
  }
  std::ranges::sort(read);
  read.erase(std::ranges::unique(read).begin(), read.end());
  return read;
}

std::int64_t Content::bytes(const Line& line) const {
  return bytes_[static_cast<std::size_t>(line.last) + 1] - bytes_[static_cast<std::size_t>(line.first)];
}

std::int64_t Content::time(const Line& line, std::int64_t (Step::*of)() const) const {
  std::int64_t sum = -1;
  for (int position = line.first; position <= line.last; ++position)
    if (const std::int64_t one = (step(position).*of)(); one >= 0) sum = std::max<std::int64_t>(sum, 0) + one;
  return sum;
}

constexpr std::size_t piece = std::size_t{1} << 16;

Pieces::Pieces(const std::function<void(std::string_view)>& write) : write_(write) {
  text_.reserve(piece + piece / 4);
}

void Pieces::pass() {
  if (text_.size() >= piece) end();
}

void Pieces::end() {
  write_(text_);
  text_.clear();
}

std::function<void(std::string_view)> to_file(std::FILE* file, const char* who) {
  return [file, who](std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), file) != text.size())
      fail("[{}] the file could not be written", who);
  };
}

}  // namespace pencil::inspect
