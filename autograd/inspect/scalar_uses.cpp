#include "autograd/inspect/scalar_uses.hpp"

#include "autograd/tape_body.hpp"

namespace pencil::inspect {

namespace {

// Calls f(scalar, use) for each.
template <class F>
void each_use(const ScalarStatements& scalars, const F& f) {
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    const auto record = scalars.record(i);
    for (std::size_t k = 0; record && k < record->sources.size(); ++k)
      if (const auto source = scalars.at(record->sources[k]))
        f(*source,
          ScalarUses::Use{static_cast<std::int64_t>(i), static_cast<std::int64_t>(k), scalars.step(i)});
  }
  const detail::Statements* const statements = detail::body_of(scalars.tape()).statements.get();
  if (!statements) return;
  for (const detail::Run& run : statements->runs)
    for (std::size_t k = 0; k < run.stacked.size(); ++k)
      if (const auto source = scalars.at(run.stacked[k]))
        f(*source, ScalarUses::Use{-1, static_cast<std::int64_t>(k), run.step});
}

}  // namespace

ScalarUses::ScalarUses(const ScalarStatements& scalars) : first_(scalars.size() + 1) {
  each_use(scalars, [&](std::size_t scalar, const Use&) { ++first_[scalar + 1]; });
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  uses_.resize(first_.back());
  std::vector<std::size_t> next = first_;
  each_use(scalars, [&](std::size_t scalar, const Use& use) { uses_[next[scalar]++] = use; });
}

}  // namespace pencil::inspect
