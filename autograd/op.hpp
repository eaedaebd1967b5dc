#pragma once

#include <bitset>
#include <boost/container/small_vector.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "autograd/tensor.hpp"

namespace pencil {

class Step;
class Worked;
class Worksheet;
namespace detail {
struct StepRecord;
}

/// The settings an op was applied with, by name, in the order given: axes, flags, numbers. Cheap to copy.
class Attributes {
 public:
  using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>>;
  struct Entry {
    std::string_view name;  // a string literal: it must outlive the tape
    Value value;
  };

  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries)
      : entries_(std::make_shared<const std::vector<Entry>>(entries)) {}

  std::span<const Entry> entries() const {
    return entries_ ? std::span<const Entry>(*entries_) : std::span<const Entry>();
  }
  const Value* find(std::string_view name) const {
    for (const Entry& entry : entries())
      if (entry.name == name) return &entry.value;
    return nullptr;
  }
  /// The value of a setting; T is one of Value's types. Throws where it is missing or of another type.
  template <class T>
  const T& get(std::string_view name) const {
    const Value* value = find(name);
    const T* typed = value ? std::get_if<T>(value) : nullptr;
    if (!typed) fail("[attributes] there is no '{}'{}", name, value ? " of the type asked for" : "");
    return *typed;
  }

 private:
  std::shared_ptr<const std::vector<Entry>> entries_;
};

/// What forward gives back: the output, and tensors the rule wants to find again.
struct Computed {
  Computed(Tensor out) : output(std::move(out)) {}  // NOLINT: most ops save nothing
  Computed(Tensor out, std::vector<Tensor> keep) : output(std::move(out)), saved(std::move(keep)) {}
  Tensor output;
  std::vector<Tensor> saved;
};

using Inputs = std::span<const Tensor>;
/// One gradient an input, in order; an undefined Tensor where none was needed or there is none.
using Gradients = boost::container::small_vector<Tensor, 4>;

/// Which inputs' gradients the sweep wants; the rule may skip the others.
class Needs {
 public:
  void set(std::size_t input) {
    if (input < 64)
      bits_ |= std::uint64_t{1} << input;
    else
      beyond_ = true;
  }
  /// Inputs from the 65th on share one answer.
  bool operator[](std::size_t input) const { return input < 64 ? (bits_ >> input & 1) != 0 : beyond_; }

 private:
  std::uint64_t bits_ = 0;
  bool beyond_ = false;
};

/// What an op worked on: sizes, which are known even where the numbers have been freed.
struct WorkSizes {
  std::span<const Shape> inputs;
  const Shape& output;
  Needs needs;  // the gradients that the rule has to give
};

/// How many operations on floating-point numbers a step takes by its formula, a multiplication and an
/// addition being two: what a clever or a wasteful kernel does beside it does not count. Moving numbers is no
/// work.
struct Work {
  double forward = 0;
  double backward = 0;
};

/// The two halves of an op, and what inspection wants to know of it.
struct OpParts {
  /// A pure function of inputs and settings. Ops called inside are not recorded.
  std::function<Computed(Inputs, const Attributes&)> forward;
  /// dy → one gradient an input; a pure function of the step and dy that captures nothing, written in ops so
  /// that it can be differentiated itself. Without a rule the chain of gradients ends here: the step is a
  /// mark.
  std::function<Gradients(const Step&, const Tensor& dy, Needs)> rule = nullptr;
  /// The same result in simpler ops: what Detail::steps records, and what a recorded sweep differentiates.
  std::function<Tensor(Inputs, const Attributes&)> composed = nullptr;
  /// How much work a step is, for tables of time. Without it they show none.
  std::function<Work(const WorkSizes&, const Attributes&)> work = nullptr;
  /// The role its output plays for the glossaries ("weights", "collapse"), unless a Role in scope says
  /// another.
  const char* role = "";
  /// What it is called when a gradient comes to a step and it passes none on: "a dead relu", "dropped out".
  const char* zero = "";
  /// Inputs that never have a derivative (labels, masks), although they may be floats.
  std::bitset<64> constant = {};
  /// The arithmetic of one number of the output, by its row-major place (autograd/arithmetic.hpp). Without
  /// it, `composed` says it, where there is one.
  std::function<Worked(Worksheet&, std::int64_t element)> explain = nullptr;
  /// Of an op that attends: the weights with which its rows look at the keys, (batch, heads, rows, keys), for
  /// pictures. Pure, as forward is.
  std::function<Tensor(Inputs, const Attributes&)> weights = nullptr;
};

/// A differentiable function of tensors: a word and its parts. A value; copies share. The built-in ops are of
/// this type.
class Op {
 public:
  Op(std::string word, OpParts parts);

  const std::string& word() const { return body_->word; }
  const OpParts& parts() const { return body_->parts; }
  bool differentiable() const { return static_cast<bool>(body_->parts.rule); }

 private:
  friend struct detail::StepRecord;
  Op() = default;  // a leaf's
  struct Body {
    std::string word;
    OpParts parts;
  };
  std::shared_ptr<const Body> body_;
};

/// A tensor on its way into an op, with the line of the call; made silently from a Tensor.
class Located {
 public:
  Located(const Tensor& x, Where at = Where::current())
      : where(at), tensor_(&x) {}                      // NOLINT: silent on purpose
  operator const Tensor&() const { return *tensor_; }  // NOLINT
  const Tensor* operator->() const { return tensor_; }
  const Tensor& operator*() const { return *tensor_; }

  Where where;

 private:
  const Tensor* tensor_;
};

/// Checks, runs and, where a tape is alive on this thread, records an op; the only way onto a tape. Throws
/// what forward throws, and Error where forward hands back no tensor.
Tensor apply(const Op& op, std::initializer_list<Located> inputs, const Attributes& attributes = {});
Tensor apply(const Op& op, Inputs inputs, const Attributes& attributes, Where where);

}  // namespace pencil
