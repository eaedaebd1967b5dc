#include "autograd/inspect/dump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "autograd/format.hpp"
#include "autograd/inspect/cells.hpp"

namespace pencil {

namespace {

using inspect::append_plain;
using inspect::Cell;
using inspect::width_of;

constexpr std::string_view none = "–";

void append_setting(std::string& to, const Attributes::Entry& entry) {
  to += fmt::format("{}=", entry.name);
  const auto append = [&]<class T>(const T& value) {
    if constexpr (std::is_same_v<T, bool>)
      to += value ? "true" : "false";
    else if constexpr (std::is_same_v<T, double>)
      append_number(to, value);
    else if constexpr (std::is_same_v<T, std::string>)
      append_plain(to, value);
    else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
      to += fmt::format("({})", fmt::join(value, ", "));
    else
      to += fmt::format("{}", value);
  };
  std::visit(append, entry.value);
}

class Dump {
 public:
  Dump(const Tape& tape, const DumpOptions& options)
      : tape_(tape),
        options_(options),
        gradient_(translated("gradient", options.glossary)),
        noun_(gradient_) {
    std::ranges::transform(noun_, noun_.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c; });
    for (int i = 0; i < tape.size(); ++i) read(tape.step(i));
  }

  void print(const std::function<void(std::string_view)>& write) {
    constexpr std::size_t piece = std::size_t{1} << 16;
    std::string text;
    text.reserve(piece + piece / 4);
    append_header(text);
    fill_titles();
    measure();
    for (int i = 0; i < tape_.size(); ++i) {
      fill(tape_.step(i));
      measure();
    }
    fill_titles();
    append_row(text);
    for (int i = 0; i < tape_.size(); ++i) {
      fill(tape_.step(i));
      append_row(text);
      if (text.size() < piece) continue;
      write(text);
      text.clear();
    }
    write(text);
  }

 private:
  enum Column { number, word, name, shape, from, settings, value, blame, source, columns };
  // Wider cells than this push the rest of their line to the right instead of widening the column.
  static constexpr std::array<std::size_t, columns> limits{10, 24, 32, 18, 20, 32, 56, 56, 80};

  // What the first look over the tape finds out.
  void read(const Step& step) {
    parameters_ += step.kind() == StepKind::parameter;
    if (usual_ == i32 && is_float(step.dtype())) usual_ = step.dtype();
    for (int i = 0; i < step.inputs(); ++i) {
      const int from_step = step.input_step(i);
      if (from_step < 0) continue;
      const Step input = tape_.step(from_step);
      if (input.kind() != StepKind::parameter || input.raw_output().version() == step.input_version(i))
        continue;
      const auto [found, is_new] = overwritten_.try_emplace(from_step, step.input_version(i));
      if (!is_new) found->second = std::min(found->second, step.input_version(i));
    }
  }

  void append_header(std::string& text) const {
    text += fmt::format("tape: {} step{}, {} parameter{}", tape_.size(), tape_.size() == 1 ? "" : "s",
                        parameters_, parameters_ == 1 ? "" : "s");
    if (usual_ != i32) text += fmt::format(", {}", name_of(usual_));
    if (tape_.backward_from() < 0) {
      text += ", no backward yet";
    } else {
      text += fmt::format(", backward from step {}", tape_.backward_from());
      if (options_.lines) text += fmt::format(" at {}", to_string(tape_.backward_where()));
    }
    if (tape_.options().keep == Keep::leaves) text += ", freed as backward passes";
    text += '\n';
  }

  void fill_titles() {
    clear();
    cells_[number].line() += "#";
    cells_[word].line() += "word";
    cells_[name].line() += "name";
    cells_[shape].line() += "shape";
    cells_[from].line() += "from";
    if (options_.settings) cells_[settings].line() += "settings";
    cells_[value].line() += "value";
    cells_[blame].line() += gradient_;
    if (options_.lines) cells_[source].line() += "line";
  }

  void fill(const Step& step) {
    clear();
    cells_[number].line() += fmt::format_int(step.number()).c_str();
    append_plain(cells_[word].line(), word_of(step, options_.glossary));
    fill_name(step, cells_[name].line());
    std::string& size = cells_[shape].line();
    size += to_string(step.shape());
    if (step.dtype() != usual_ && usual_ != i32) size += fmt::format(" {}", name_of(step.dtype()));
    fill_from(step, cells_[from].line());
    if (options_.settings) fill_settings(step, cells_[settings].line());
    fill_value(step, cells_[value]);
    fill_blame(step, cells_[blame]);
    if (options_.lines) fill_source(step, cells_[source].line());
  }

  static void fill_name(const Step& step, std::string& line) {
    const std::string_view own = step.name(), path = step.path();
    // A leaf's name is its own: the path says only who read it first.
    const bool leaf = step.kind() != StepKind::op && step.kind() != StepKind::paused;
    if (!leaf || own.empty()) {
      append_plain(line, path);
      if (!path.empty() && !own.empty()) line += ": ";
    }
    append_plain(line, own);
    const auto space = [&] { line += line.empty() ? "" : " "; };
    if (step.kind() == StepKind::paused) {
      space();
      append_plain(line, step.op().word());
    }
    if (step.gradient_of() >= 0) {
      space();
      line += fmt::format("(gradient of step {})", step.gradient_of());
    }
  }

  void fill_from(const Step& step, std::string& line) const {
    constexpr int most = 8;
    int shown = 0;
    for (int i = 0; i < step.inputs(); ++i, ++shown) {
      if (i > 0) line += ' ';
      if (shown == most) {
        line += fmt::format("… {} more", step.inputs() - i);
        return;
      }
      const int first = step.input_step(i);
      if (first < 0) {
        append_number_input(step.raw_input(i), line);
        continue;
      }
      line += fmt::format_int(first).c_str();
      if (step.overwritten(i)) {
        line += fmt::format(" (version {})", step.input_version(i));
        continue;
      }
      int last = i;  // 3 4 5 6 is written 3…6
      while (last + 1 < step.inputs() && step.input_step(last + 1) == first + last + 1 - i &&
             !step.overwritten(last + 1))
        ++last;
      if (last - i < 3) continue;
      line += fmt::format("…{}", step.input_step(last));
      i = last;
    }
  }

  static void append_number_input(const Tensor& x, std::string& line) {
    if (!x.defined())
      line += "freed";
    else if (x.size() == 1)
      dispatch(x.dtype(), [&]<class T>(T) { append_number(line, x.values<T>()[0]); });
    else
      line += to_string(x.shape());
  }

  static void fill_settings(const Step& step, std::string& line) {
    for (const Attributes::Entry& entry : step.attributes().entries()) {
      if (!line.empty()) line += ' ';
      append_setting(line, entry);
    }
  }

  void fill_value(const Step& step, Cell& cell) const {
    if (step.kind() == StepKind::paused) {
      cell.line() += "not recorded";
    } else if (const auto found = overwritten_.find(step.number()); found != overwritten_.end()) {
      const Tensor& parameter = step.raw_output();
      cell.line() += fmt::format("overwritten at {}, version {} → {}", to_string(parameter.written()),
                                 found->second, parameter.version());
    } else if (!step.raw_output().defined()) {
      cell.line() += "freed";
    } else {
      inspect::append_values(cell, step.raw_output(), options_.whole);
    }
  }

  void fill_blame(const Step& step, Cell& cell) const {
    if (step.gradient().defined()) return inspect::append_values(cell, step.gradient(), options_.whole);
    if (step.kind() == StepKind::paused || (step.kind() == StepKind::op && !step.op().differentiable())) {
      cell.line() += fmt::format("– {} ends here", noun_);
    } else if (step.kind() == StepKind::foreign) {
      cell.line() += "– of another tape";
    } else if (step.kind() == StepKind::parameter && !step.needs_gradient()) {
      cell.line() += "– frozen";
    } else if (!step.needs_gradient()) {
      cell.line() += none;
    } else if (tape_.backward_from() < 0) {
      cell.line() += fmt::format("no {} yet", noun_);
    } else if (!step.reached()) {
      cell.line() += "none came";
    } else if (step.kind() == StepKind::parameter && step.raw_output().has_grad()) {
      inspect::append_values(cell, step.raw_output().grad(), options_.whole);
    } else {
      cell.line() += "freed";
    }
  }

  static void fill_source(const Step& step, std::string& line) {
    const std::string called = to_string(step.called()), inner = to_string(step.where());
    append_plain(line, called);
    if (inner != called && !inner.empty())
      append_plain(line, called.empty() ? inner : fmt::format(" ({})", inner));
  }

  void clear() {
    for (Cell& cell : cells_) cell.clear();
  }

  void measure() {
    for (std::size_t i = 0; i < columns; ++i)
      widths_[i] = std::max(widths_[i], std::min(cells_[i].width(), limits[i]));
  }

  void append_row(std::string& text) const {
    std::size_t height = 1;
    for (const Cell& cell : cells_) height = std::max(height, cell.lines());
    for (std::size_t line = 0; line < height; ++line) {
      std::size_t owed = 0;  // blanks before the next text, so that no line ends in blanks
      for (std::size_t i = 0; i < columns; ++i) {
        if (widths_[i] == 0) continue;
        const std::string_view part = cells_[i][line];
        const std::size_t pad = widths_[i] - std::min(widths_[i], width_of(part));
        const std::size_t before = i == number ? pad : 0;
        owed += before;
        if (!part.empty()) {
          text.append(owed, ' ');
          text += part;
          owed = 0;
        }
        owed += pad - before + 2;
      }
      text += '\n';
    }
  }

  const Tape& tape_;
  const DumpOptions& options_;
  std::string_view gradient_;
  std::string noun_;
  int parameters_ = 0;
  DType usual_ = i32;                                   // the dtype of the first floats
  std::unordered_map<int, std::uint32_t> overwritten_;  // parameters written since: the version first read
  std::array<Cell, columns> cells_;
  std::array<std::size_t, columns> widths_{};
};

}  // namespace

void dump(const Tape& tape, const DumpOptions& options, const std::function<void(std::string_view)>& write) {
  Dump(tape, options).print(write);
}

std::string dump(const Tape& tape, const DumpOptions& options) {
  std::string text;
  dump(tape, options, [&](std::string_view piece) { text += piece; });
  return text;
}

void dump(std::FILE* file, const Tape& tape, const DumpOptions& options) {
  dump(tape, options, [&](std::string_view piece) {
    if (std::fwrite(piece.data(), 1, piece.size(), file) != piece.size())
      fail("[dump] the file could not be written");
  });
}

}  // namespace pencil
