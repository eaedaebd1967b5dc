#pragma once

// What a printed tape says of a step. Here alone it is decided whether a value was freed or overwritten and
// why there is no blame; the text table and JSON only word it.

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "autograd/tape.hpp"

namespace pencil::inspect {

struct ValueFact {
  enum State : std::uint8_t { known, not_recorded, overwritten, freed, one_by_one };  // the last: Scalars
  State state = known;
  Tensor tensor;                   // where it is known, or the parameter that was overwritten
  std::uint32_t version_read = 0;  // of an overwritten parameter: the version its first reader read
};

struct BlameFact {
  enum State : std::uint8_t {
    known,            // it arrived in `backward`
    ends_here,        // an op without a rule, or recorded while paused
    of_another_tape,  // a foreign tensor, a constant here
    frozen,           // a frozen parameter
    not_wanted,       // no parameter leads here
    not_yet,          // `backward` has not run
    none_came,        // `backward` ran, and this step is not on its way
    freed,            // it arrived and was freed (Keep::leaves)
    one_by_one        // it arrived at Scalars
  };
  State state = known;
  Tensor tensor;  // where it is known
};

class Facts {
 public:
  /// Looks over the tape once; what is written to parameters afterwards is not seen.
  explicit Facts(const Tape& tape);

  int parameters() const { return parameters_; }
  /// The dtype of the first step with floats, which goes without saying for the others.
  std::optional<DType> usual() const { return usual_; }
  ValueFact value(const Step& step) const;
  BlameFact blame(const Step& step) const;

 private:
  void read(const Step& step);

  const Tape& tape_;
  int parameters_ = 0;
  std::optional<DType> usual_;
  std::unordered_map<int, std::uint32_t> overwritten_;  // parameters written since: the version first read
};

/// "ends here", "none came", …
std::string_view name_of(BlameFact::State state);

}  // namespace pencil::inspect
