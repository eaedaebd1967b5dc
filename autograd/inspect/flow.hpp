#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/inspect/glossary.hpp"
#include "autograd/tape.hpp"

namespace pencil {

/// What a step of an optimizer did to one parameter. Norms are Euclidean.
struct ParameterUpdate {
  std::string name;
  Tensor parameter;
  double gradient_norm = 0;  ///< of the gradient it used, before clipping
  double update_norm = 0;    ///< of new minus old weights; 0 where norms were not asked for
  double weight_norm = 0;    ///< after the update; 0 where norms were not asked for
};

struct FlowOptions {
  Glossary glossary = Glossary::pencil;
  /// A gradient's norm, or a ratio of update to weights, below the one is marked vanishing, above the other
  /// exploding.
  double vanishing = 1e-7;
  double exploding = 1e3;
  /// Modules are told apart by so many parts of their path; −1: all, 0: none.
  int depth = -1;
};

enum class FlowMark : std::uint8_t { fine, none_came, vanishing, exploding, not_finite };
std::string_view name_of(FlowMark mark);

/// How blame flows into a parameter, or into all of a module's.
struct FlowRow {
  std::string name;                  ///< the parameter's, or the module's path
  std::int64_t numbers = 0;          ///< how many there are
  std::optional<double> norm = {};   ///< of the gradient; nothing where none came
  std::optional<double> zeros = {};  ///< share of its numbers that are 0: 0 to 1; unknown once it was used up
  std::optional<double> largest = {};  ///< the largest |number| in it; unknown likewise
  std::optional<double> ratio =
      {};  ///< norm of the update over norm of the weights; with norms in the report
  FlowMark gradient = FlowMark::fine;  ///< what the norm says
  FlowMark update = FlowMark::fine;    ///< what the ratio says
};

struct Flow {
  Glossary glossary = Glossary::pencil;
  std::vector<FlowRow>
      parameters;                ///< in the order of the tape; then those of the report that it does not have
  std::vector<FlowRow> modules;  ///< in the same order; a module holds the parameters named after its path
};

/// Is blame flowing? The gradient of each parameter is read off the tape; with Keep::leaves, which freed it,
/// from what the parameter has collected (on several tapes, perhaps), and once an optimizer has used that up,
/// its norm from the report. `report` is what `step()` of an optimizer returned:
///
///     fmt::print("{}", to_string(flow(tape, adam.step())));
///
/// Throws Error before `backward`, and where the two limits are no numbers in order.
Flow flow(const Tape& tape, std::span<const ParameterUpdate> report = {}, const FlowOptions& options = {});

/// As text: a table by parameter and one by module. "–" is unknown.
std::string to_string(const Flow& flow);

}  // namespace pencil
