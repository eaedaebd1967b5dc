// A timed tape in Chrome's Trace Event Format: complete events ("ph":"X").

#include <fmt/format.h>

#include "autograd/inspect/json_text.hpp"
#include "autograd/inspect/time.hpp"

namespace pencil {

namespace {

// A stretch of the picture: of a step, or of a module around several.
struct Slice {
  std::string_view name;
  std::int64_t begin = 0;  // nanoseconds
  std::int64_t end = 0;
  int step = -1;  // −1: a module's
};

// The slices of steps that follow each other, each module's before those of the steps inside.
class Slices {
 public:
  void add(std::string_view path, const Slice& slice) {
    enter(path, slice.begin);
    for (const std::size_t open : open_) slices_[open].end = slice.end;
    slices_.push_back(slice);
  }
  const std::vector<Slice>& all() const { return slices_; }

 private:
  // Leaves the modules that the path is not in, and opens a slice for each of its others.
  void enter(std::string_view path, std::int64_t now) {
    std::size_t depth = 0;
    for (std::size_t at = 0; at < path.size();) {
      const std::size_t end = std::min(path.find('.', at), path.size());
      const std::string_view name = path.substr(at, end - at);
      if (depth == open_.size() || slices_[open_[depth]].name != name) {
        open_.resize(depth);
        open_.push_back(slices_.size());
        slices_.push_back({.name = name, .begin = now});
      }
      ++depth;
      at = end + 1;
    }
    open_.resize(depth);
  }

  std::vector<Slice> slices_;
  std::vector<std::size_t> open_;
};

class Trace {
 public:
  Trace(const Tape& tape, const TraceOptions& options, const std::function<void(std::string_view)>& write)
      : tape_(tape), options_(options), write_(write), json_(text_) {}

  void print() {
    json_.open('{');
    json_.key("displayTimeUnit").text("ns");
    json_.key("traceEvents").open('[');
    name_thread();
    Slices forward, backward;
    for (int i = 0; i < tape_.size(); ++i) {
      const Step step = tape_.step(i);
      if (step.forward_time() >= 0) add(forward, step, step.forward_begin(), step.forward_time());
    }
    for (int i = tape_.size() - 1; i >= 0; --i) {
      const Step step = tape_.step(i);
      if (step.backward_time() >= 0) add(backward, step, step.backward_begin(), step.backward_time());
    }
    print(forward, "forward");
    print(backward, "backward");
    json_.line_break();
    json_.close(']');
    json_.close('}');
    text_ += '\n';
    write_(text_);
  }

 private:
  void add(Slices& slices, const Step& step, std::int64_t begin, std::int64_t length) const {
    slices.add(step.path(), {word_of(step, options_.glossary), begin, begin + length, step.number()});
  }

  void name_thread() {
    open_event("thread_name", "M");
    json_.key("args").open('{');
    json_.key("name").text("tape");
    json_.close('}');
    json_.close('}');
  }

  void print(const Slices& slices, std::string_view pass) {
    constexpr std::size_t piece = std::size_t{1} << 16;
    for (const Slice& slice : slices.all()) {
      open_event(slice.name, "X");
      json_.key("cat").text(slice.step < 0 ? std::string_view("module") : pass);
      json_.key("ts").number(static_cast<double>(slice.begin) / 1000);
      json_.key("dur").number(static_cast<double>(slice.end - slice.begin) / 1000);
      if (slice.step >= 0) print_arguments(tape_.step(slice.step), pass);
      json_.close('}');
      if (text_.size() < piece) continue;
      write_(text_);
      text_.clear();
    }
  }

  void open_event(std::string_view name, std::string_view phase) {
    json_.line_break();
    json_.open('{');
    json_.key("name").text(name);
    json_.key("ph").text(phase);
    json_.key("pid").number(1);
    json_.key("tid").number(1);
  }

  void print_arguments(const Step& step, std::string_view pass) {
    json_.key("args").open('{');
    json_.key("step").number(step.number());
    json_.key("op").text(step.word());
    json_.key("shape").text(to_string(step.shape()));
    if (!step.name().empty()) json_.key("name").text(step.name());
    if (options_.lines) json_.key("line").text(to_string(step.called()));
    if (const std::optional<Work> work = work_of(tape_, step))
      json_.key("operations").number(pass == "forward" ? work->forward : work->backward);
    json_.close('}');
  }

  const Tape& tape_;
  const TraceOptions& options_;
  const std::function<void(std::string_view)>& write_;
  std::string text_;
  inspect::JsonText json_;
};

}  // namespace

void chrome_trace(const Tape& tape, const TraceOptions& options,
                  const std::function<void(std::string_view)>& write) {
  if (!tape.options().time)
    fail("[trace] this tape did not measure its steps; make it with Tape tape{{{{.time = true}}}}");
  Trace(tape, options, write).print();
}

std::string chrome_trace(const Tape& tape, const TraceOptions& options) {
  std::string text;
  chrome_trace(tape, options, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace pencil
