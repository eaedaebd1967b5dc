#include "autograd/inspect/dump.hpp"

#include <fmt/format.h>

#include "autograd/format.hpp"
#include "autograd/inspect/content.hpp"
#include "autograd/inspect/statements.hpp"
#include "autograd/inspect/table.hpp"
#include "autograd/inspect/wording.hpp"

namespace pencil {

namespace {

using namespace inspect;

enum Column : std::size_t {
  number,
  word,
  name,
  shape,
  from,
  settings,
  value,
  blame,
  bytes,
  forward,
  backward,
  source
};

std::vector<Table::Column> columns() {
  return {{10, true}, {24}, {32}, {18}, {20}, {32}, {56}, {56}, {16, true}, {16, true}, {16, true}, {80}};
}

class Dump {
 public:
  Dump(const Tape& tape, const DumpOptions& options)
      : options_(options),
        content_(tape, options),
        scalars_(tape),
        table_(columns(), static_cast<std::size_t>(options.width)),
        gradient_(translated("gradient", options.glossary)),
        noun_(noun_for_gradient(options.glossary)) {}

  void print(const std::function<void(std::string_view)>& write) {
    Pieces pieces(write);
    append_header(pieces.text());
    fill_titles();
    table_.measure();
    each_row([&] { table_.measure(); });
    fill_titles();
    table_.append_row(pieces.text());
    each_row([&] {
      table_.append_row(pieces.text());
      pieces.pass();
    });
    pieces.end();
  }

 private:
  // Fills the table with each row in turn. Scalar statements take a line each; many of them come in several
  // rows, so that they need not all be in memory.
  template <class F>
  void each_row(const F& row) {
    constexpr std::size_t most = 1024;
    for (const Line& line : content_.lines()) {
      fill(line);
      const Step step = content_.step(line.last);
      if (line.kind != Line::step || step.kind() != StepKind::scalars) {
        row();
        continue;
      }
      const ScalarStatements::Range all = scalars_.of(step);
      for (std::size_t i = all.first; i < all.last; i += most) {
        if (i > all.first) table_.clear();
        for (std::size_t k = i; k < std::min(i + most, all.last); ++k) fill_statement(k);
        if (i + most < all.last) row();
      }
      fill_stacked(step);
      row();
    }
  }

  void fill_statement(std::size_t i) {
    if (options_.value) append_plain(table_[value].line(), scalars_.text(i));
    if (!options_.blame) return;
    std::string& text = table_[blame].line();
    if (scalars_.reached(i))
      append_number(text, scalars_.gradient(i));
    else
      text += content_.tape().backward_from() < 0 ? fmt::format("no {} yet", noun_) : "none came";
  }

  void fill_stacked(const Step& step) {
    if (!step.raw_output().defined()) return;
    if (options_.value) append_plain(table_[value].line(), scalars_.stacked(step));
    if (options_.blame) table_[blame].line() += "";
  }

  void append_header(std::string& text) const {
    const Tape& tape = content_.tape();
    const int parameters = content_.facts().parameters();
    const auto usual = content_.facts().usual();
    text += "tape: ";
    if (content_.shown() < tape.size()) text += fmt::format("{} of ", content_.shown());
    text +=
        fmt::format("{} step{}{}, {} parameter{}", tape.size(), tape.size() == 1 ? "" : "s",
                    content_.shown() < tape.size() ? " shown" : "", parameters, parameters == 1 ? "" : "s");
    if (scalars_.size() > 0)
      text += fmt::format(", {} scalar{}", scalars_.size(), scalars_.size() == 1 ? "" : "s");
    if (usual) text += fmt::format(", {}", name_of(*usual));
    if (tape.backward_from() < 0) {
      text += ", no backward yet";
    } else {
      text += fmt::format(", backward from step {}", tape.backward_from());
      if (options_.lines) text += fmt::format(" at {}", to_string(tape.backward_where()));
    }
    if (tape.options().keep == Keep::leaves) text += ", freed as backward passes";
    if (options_.fold > 0) text += fmt::format(", folded to depth {}", options_.fold);
    cut_line(text, 0, static_cast<std::size_t>(options_.width));
    text += '\n';
  }

  void fill_titles() {
    table_.clear();
    table_[number].line() += "#";
    table_[word].line() += "word";
    table_[name].line() += "name";
    if (options_.shape) table_[shape].line() += "shape";
    table_[from].line() += "from";
    if (options_.settings) table_[settings].line() += "settings";
    if (options_.value) table_[value].line() += "value";
    if (options_.blame) table_[blame].line() += gradient_;
    if (options_.bytes) table_[bytes].line() += "bytes";
    if (options_.time) {
      table_[forward].line() += "forward µs";
      table_[backward].line() += "backward µs";
    }
    if (options_.lines) table_[source].line() += "line";
  }

  void fill(const Line& line) {
    table_.clear();
    const Step step = content_.step(line.last);
    fill_number(line, table_[number].line());
    fill_word(line, step, table_[word].line());
    if (options_.bytes) table_[bytes].line() += fmt::format_int(content_.bytes(line)).c_str();
    if (options_.time) {
      fill_time(content_.forward_time(line), table_[forward].line());
      fill_time(content_.backward_time(line), table_[backward].line());
    }
    if (line.kind == Line::repeat) return;
    fill_name(line, table_[name].line());
    if (options_.shape && (step.kind() != StepKind::scalars || step.raw_output().defined()))
      fill_shape(step, table_[shape].line());
    fill_from(line, step, table_[from].line());
    if (options_.settings && line.kind == Line::step) append_settings(table_[settings], step);
    const bool scalars = line.kind == Line::step && step.kind() == StepKind::scalars;
    if (options_.value && !scalars) append_value(table_[value], content_.facts().value(step), options_.whole);
    if (options_.blame && !scalars)
      append_blame(table_[blame], content_.facts().blame(step), noun_, options_.whole);
    if (options_.lines) append_source(table_[source].line(), step);
  }

  void fill_number(const Line& line, std::string& text) const {
    text += fmt::format_int(content_.step(line.first).number()).c_str();
    if (line.first < line.last) text += fmt::format("…{}", content_.step(line.last).number());
  }

  void fill_word(const Line& line, const Step& step, std::string& text) const {
    text.append(2 * static_cast<std::size_t>(line.level), ' ');
    if (line.kind == Line::repeat) {
      text += fmt::format("× {}", line.times);
      return;
    }
    const int steps = line.steps_each_time();
    if (line.kind == Line::module)
      text += fmt::format("{} step{}", steps, steps == 1 ? "" : "s");
    else
      append_plain(text, word_of(step, options_.glossary));
    if (line.times > 1) text += fmt::format(" × {}", line.times);
  }

  void fill_name(const Line& line, std::string& text) const {
    append_name_at(line, line.last, text);
    if (line.times == 1) return;
    std::string first;
    append_name_at(line, line.first, first);
    if (first != text) text = first + " … " + text;
  }

  void append_name_at(const Line& line, int position, std::string& text) const {
    if (line.kind == Line::step)
      append_name(text, content_.step(position));
    else
      append_plain(text, content_.module(position));
  }

  static void fill_time(std::int64_t nanoseconds, std::string& text) {
    text += nanoseconds < 0 ? "–" : fmt::format("{:.1f}", static_cast<double>(nanoseconds) / 1000);
  }

  void fill_shape(const Step& step, std::string& text) const {
    text += to_string(step.shape());
    const auto usual = content_.facts().usual();
    if (usual && step.dtype() != *usual) text += fmt::format(" {}", name_of(step.dtype()));
  }

  void fill_from(const Line& line, const Step& step, std::string& text) const {
    if (line.kind == Line::step)
      append_inputs(text, step);
    else
      append_numbers(text, content_.read_by_module(line));
  }

  const DumpOptions& options_;
  Content content_;
  ScalarStatements scalars_;
  Table table_;
  std::string_view gradient_;
  std::string noun_;
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
  dump(tape, options, to_file(file, "dump"));
}

}  // namespace pencil
