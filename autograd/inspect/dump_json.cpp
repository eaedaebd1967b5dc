#include "autograd/inspect/content.hpp"
#include "autograd/inspect/dump.hpp"
#include "autograd/inspect/json_text.hpp"
#include "autograd/inspect/statements.hpp"
#include "autograd/inspect/summary.hpp"

namespace pencil {

namespace {

using namespace inspect;

class JsonDump {
 public:
  JsonDump(const Tape& tape, const DumpOptions& options)
      : options_(options), content_(tape, options), scalars_(tape) {}

  void write(const std::function<void(std::string_view)>& write) {
    Pieces pieces(write);
    JsonText json(pieces.text());
    json_ = &json;
    json.open('{');
    json.key("tape");
    write_tape();
    json.key("lines").open('[');
    std::vector<std::size_t> ends;  // where the repeats end that are open
    for (std::size_t i = 0; i < content_.lines().size(); ++i) {
      const Line& line = content_.lines()[i];
      json.line_break();
      write_line(line);
      if (line.kind == Line::repeat)
        ends.push_back(i + static_cast<std::size_t>(line.below));
      else
        json.close('}');
      for (; !ends.empty() && ends.back() == i; ends.pop_back()) {
        json.close(']');
        json.close('}');
      }
      pieces.pass();
    }
    json.line_break();
    json.close(']');
    json.close('}');
    pieces.text() += '\n';
    pieces.end();
  }

 private:
  JsonText& key(std::string_view name) { return json_->key(name); }
  void text(std::string_view name, std::string_view value) {
    if (!value.empty()) key(name).text(value);
  }

  void write_tape() {
    const Tape& tape = content_.tape();
    json_->open('{');
    key("steps").number(tape.size());
    key("shown").number(content_.shown());
    key("parameters").number(content_.facts().parameters());
    if (const auto usual = content_.facts().usual()) key("dtype").text(name_of(*usual));
    key("detail").text(tape.options().detail == Detail::fast ? "fast" : "steps");
    key("keep").text(tape.options().keep == Keep::all ? "all" : "leaves");
    if (tape.backward_from() >= 0) {
      key("backward").open('{');
      key("from").number(tape.backward_from());
      if (options_.lines) text("line", to_string(tape.backward_where()));
      json_->close('}');
    }
    key("glossary").text(name_of(options_.glossary));
    if (options_.fold > 0) key("fold").number(options_.fold);
    json_->close('}');
  }

  // All of a line but the bracket at its end; a repeat ends in an open list, for the lines below it.
  void write_line(const Line& line) {
    const Step step = content_.step(line.last);
    json_->open('{');
    if (line.kind == Line::step)
      write_head(line, step);
    else
      write_fold(line, step);
    if (options_.bytes) key("bytes").number(content_.bytes(line));
    if (options_.time) {
      write_time("forward_ns", content_.forward_time(line));
      write_time("backward_ns", content_.backward_time(line));
    }
    if (line.kind == Line::repeat) return key("lines").open('[');
    if (options_.shape) write_shape(step);
    if (line.kind == Line::step)
      write_inputs(step);
    else
      write_read(line);
    if (options_.settings && line.kind == Line::step) write_settings(step);
    if (step.kind() == StepKind::scalars && line.kind == Line::step) {
      write_statements(step);
      if (!step.raw_output().defined()) return;
    }
    if (options_.value) write_value(step);
    if (options_.blame) write_gradient(step);
    if (!options_.lines) return;
    text("called", to_string(step.called()));
    text("where", to_string(step.where()));
  }

  void write_head(const Line& line, const Step& step) {
    key("step").number(step.number());
    key("kind").text(name_of(step.kind()));
    write_times(line);
    key("word").text(word_of(step, options_.glossary));
    if (step.kind() == StepKind::op || step.kind() == StepKind::paused) text("op", step.op().word());
    text("role", step.role());
    text("path", step.path());
    text("name", step.name());
    if (step.gradient_of() >= 0) key("gradient_of").number(step.gradient_of());
  }

  void write_fold(const Line& line, const Step& step) {
    const bool module = line.kind == Line::module;
    key("step").number(step.number());
    key("kind").text(module ? "module" : "repeat");
    key("first").number(content_.step(line.first).number());
    key("times").number(line.times);
    key("steps").number(line.steps_each_time());
    if (!module) return;
    const std::string_view first = content_.module(line.first), last = content_.module(line.last);
    if (first != last) text("first_path", first);
    text("path", last);
  }

  void write_times(const Line& line) {
    if (line.times == 1) return;
    key("first").number(content_.step(line.first).number());
    key("times").number(line.times);
  }

  void write_time(std::string_view name, std::int64_t nanoseconds) {
    if (nanoseconds >= 0) key(name).number(nanoseconds);
  }

  void write_shape(const Step& step) {
    key("shape").open('[');
    for (const std::int64_t size : step.shape()) json_->number(size);
    json_->close(']');
    key("dtype").text(name_of(step.dtype()));
  }

  void write_inputs(const Step& step) {
    key("inputs").open('[');
    for (int i = 0; i < step.inputs(); ++i) {
      if (step.input_step(i) < 0) {
        write_plain(step.raw_input(i));
      } else if (!step.overwritten(i)) {
        json_->number(step.input_step(i));
      } else {
        json_->open('{');
        key("step").number(step.input_step(i));
        key("version").number(std::int64_t{step.input_version(i)});
        json_->close('}');
      }
    }
    json_->close(']');
  }

  // A plain number stands in an object, to be told from the number of a step.
  void write_plain(const Tensor& x) {
    json_->open('{');
    key("number");
    if (x.size() == 1)
      dispatch(x.dtype(), [&]<class T>(T) { json_->number(x.values<T>()[0]); });
    else
      write_numbers(x, x.size());
    json_->close('}');
  }

  void write_read(const Line& line) {
    key("inputs").open('[');
    for (const int number : content_.read_by_module(line)) json_->number(number);
    json_->close(']');
  }

  void write_settings(const Step& step) {
    if (step.attributes().entries().empty()) return;
    key("settings").open('{');
    for (const Attributes::Entry& entry : step.attributes().entries()) {
      key(entry.name);
      std::visit([&](const auto& value) { write_setting(value); }, entry.value);
    }
    json_->close('}');
  }

  void write_setting(bool value) { json_->boolean(value); }
  void write_setting(std::int64_t value) { json_->number(value); }
  void write_setting(double value) { json_->number(value); }
  void write_setting(const std::string& value) { json_->text(value); }
  void write_setting(const std::vector<std::int64_t>& values) {
    json_->open('[');
    for (const std::int64_t value : values) json_->number(value);
    json_->close(']');
  }

  void write_value(const Step& step) {
    const ValueFact fact = content_.facts().value(step);
    key("value").open('{');
    switch (fact.state) {
      case ValueFact::known:
        write_tensor(fact.tensor);
        break;
      case ValueFact::not_recorded:
        key("state").text("not recorded");
        break;
      case ValueFact::overwritten:
        key("state").text("overwritten");
        text("at", to_string(fact.tensor.written()));
        key("read").number(std::int64_t{fact.version_read});
        key("now").number(std::int64_t{fact.tensor.version()});
        break;
      case ValueFact::freed:
        key("state").text("freed");
        break;
      case ValueFact::one_by_one:
        key("state").text("one by one");
        break;
    }
    json_->close('}');
  }

  void write_statements(const Step& step) {
    const ScalarStatements::Range all = scalars_.of(step);
    key("statements").open('[');
    for (std::size_t i = all.first; i < all.last; ++i) {
      json_->open('{');
      key("scalar").text(scalars_.label(i));
      text("formula", scalars_.formula(i));
      if (options_.value) key("value").number(scalars_.value(i));
      if (options_.blame && scalars_.reached(i)) key("gradient").number(scalars_.gradient(i));
      json_->close('}');
    }
    json_->close(']');
    text("output", scalars_.stacked(step));
  }

  void write_gradient(const Step& step) {
    const BlameFact fact = content_.facts().blame(step);
    key("gradient").open('{');
    if (fact.state == BlameFact::known)
      write_tensor(fact.tensor);
    else
      key("state").text(name_of(fact.state));
    json_->close('}');
  }

  void write_tensor(const Tensor& x) {
    if (x.size() <= options_.whole) {
      key("numbers");
      return write_numbers(x, x.size());
    }
    key("first");
    write_numbers(x, std::min(first_numbers, x.size()));
    const Summary summary = summary_of(x);
    if (summary.finite > 0) {
      dispatch(x.dtype(), [&]<class T>(T) {
        key("least").number(static_cast<T>(summary.least));
        key("mean").number(summary.mean);
        key("largest").number(static_cast<T>(summary.largest));
      });
    }
    key("nan").number(summary.nan);
    key("inf").number(summary.inf);
  }

  void write_numbers(const Tensor& x, std::int64_t count) {
    json_->open('[');
    dispatch(x.dtype(), [&]<class T>(T) {
      for (const T value : x.values<T>().first(static_cast<std::size_t>(count))) json_->number(value);
    });
    json_->close(']');
  }

  const DumpOptions& options_;
  Content content_;
  ScalarStatements scalars_;
  JsonText* json_ = nullptr;
};

}  // namespace

void dump_json(const Tape& tape, const DumpOptions& options,
               const std::function<void(std::string_view)>& write) {
  JsonDump(tape, options).write(write);
}

std::string dump_json(const Tape& tape, const DumpOptions& options) {
  std::string text;
  dump_json(tape, options, [&](std::string_view piece) { text += piece; });
  return text;
}

void dump_json(std::FILE* file, const Tape& tape, const DumpOptions& options) {
  dump_json(tape, options, to_file(file, "dump_json"));
}

}  // namespace pencil
