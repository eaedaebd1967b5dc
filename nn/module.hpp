#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/op.hpp"
#include "autograd/random.hpp"
#include "autograd/tape.hpp"

namespace pencil::nn {

class Visitor;

/// A layer or a model: parameters, child modules, and `forward`, which composes ops and children in plain
/// code.
///
/// `visit` is the only place where a child is named: parameters, paths, saving, printing and the mode follow
/// from it. Modules are move-only; `clone` copies. They start in evaluation mode.
class Module {
 public:
  Module() = default;
  Module(Module&&) = default;
  Module& operator=(Module&&) = default;
  virtual ~Module() = default;

  virtual Tensor forward(const Tensor& x) const = 0;
  /// forward within a scope, so that its steps carry this module's path and the line of the call.
  Tensor operator()(const Located& x) const;

  /// Names every child module and parameter to the visitor, in order: `v("embed", embed)`.
  virtual void visit(Visitor&) {}
  /// What a summary calls it: "Dense", "Embedding" …
  virtual std::string_view kind() const { return "Module"; }

  /// Practice (dropout at work) or exam, for this module and all below it.
  void train(bool training = true);
  void eval() { train(false); }
  bool training() const { return training_; }

  /// The path of the last visit, "attend.query"; "" for a root or a module never visited.
  const std::string& path() const { return path_; }

 private:
  friend class Visitor;
  std::string path_;
  bool training_ = false;
};

/// Walks a tree of modules: derive and override what you want to see.
class Visitor {
 public:
  virtual ~Visitor() = default;

  /// Visits a tree from its root, which may be a part of a model: what a walk over the whole model has called
  /// it stays before the paths of its modules.
  void walk(Module& root);
  /// What `visit` calls for each child. Throws Error where a name is used twice, is empty or has a dot in it.
  void operator()(std::string_view name, Module& child);
  void operator()(std::string_view name, Tensor& parameter);

 protected:
  // Paths begin below the root of the walk.
  virtual void module(const std::string& /*path*/, Module& /*child*/) {}
  virtual void parameter(const std::string& /*path*/, Tensor& /*parameter*/) {}
  /// A path below the root as the whole model has it: "query.weight" of "attend" is "attend.query.weight".
  std::string whole(const std::string& path) const;

 private:
  std::string path_of(std::string_view name);

  std::string prefix_;              // the path of the root within the model it is part of
  std::string path_;                // below the root
  std::vector<std::string> names_;  // of the module being visited
};

/// A parameter or another tensor under its path: "attend.query.weight".
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// All parameters in the order of `visit`, each once, under their paths from `model` on. Sets the paths of
/// all modules and the names of the tensors, which begin at the root of the whole model once that was
/// visited: parameters(model) first, then parameters(model.attend), and both know "attend.query.weight".
std::vector<NamedTensor> named_parameters(Module& model);
std::vector<Tensor> parameters(Module& model);
/// How many numbers the parameters hold.
std::int64_t parameter_count(Module& model);

/// Frozen parameters get no gradient on tapes that meet them from now on, and optimizers leave them alone.
void freeze(Module& model, bool frozen = true);

/// Copies of all parameters, by path.
std::vector<NamedTensor> state(Module& model);
/// Writes tensors into the parameters of the same paths. Throws Error that lists every missing, unexpected
/// and misshapen name, and then writes nothing.
void load_state(Module& model, const std::vector<NamedTensor>& tensors);

namespace detail {
/// Practice or exam for each module of a tree as the other tree has it.
void copy_modes(Module& from, Module& to);
}  // namespace detail

/// A copy with parameters of its own: `make` builds a module of the same form, which is given this one's
/// values, modes and frozen flags. Layers with `options()` need no recipe.
template <class Make>
auto clone(Module& model, Make&& make) -> decltype(make()) {
  auto copy = make();
  load_state(copy, state(model));
  detail::copy_modes(model, copy);
  const std::vector<Tensor> from = parameters(model), to = parameters(copy);
  for (std::size_t i = 0; i < from.size(); ++i) to[i].set_frozen(from[i].frozen());
  return copy;
}
template <class M>
requires std::derived_from<M, Module> && requires(M& m, Rng& rng) { M(m.options(), rng); }
M clone(M& model) {
  return clone(model, [&] {
    Rng unused{0};
    return M(model.options(), unused);
  });
}

}  // namespace pencil::nn
