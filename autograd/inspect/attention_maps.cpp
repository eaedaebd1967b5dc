#include "autograd/inspect/attention_maps.hpp"

#include "autograd/tape_body.hpp"

namespace pencil::inspect {

namespace {

// The weights of a step that has any, (…, rows, keys).
Tensor weights_of(const Step& step) {
  if (!step.op().parts().weights) return step.output();
  boost::container::small_vector<Tensor, 4> inputs;
  for (int i = 0; i < step.inputs(); ++i) inputs.push_back(step.input(i));
  const detail::Quiet quiet;
  return step.op().parts().weights(Inputs(inputs.data(), inputs.size()), step.attributes());
}

bool attends(const Step& step) {
  if (step.kind() != StepKind::op || step.gradient_of() >= 0) return false;
  return step.op().parts().weights || (step.role() == "weights" && step.shape().rank() >= 2);
}

// (…, heads, rows, keys) → (heads, rows, keys): the first of all that stands before.
AttentionMap map_of(const Step& step) {
  const Tensor weights = weights_of(step);
  const Shape& shape = weights.shape();
  const std::int64_t heads = shape.rank() > 2 ? shape[-3] : 1, size = heads * shape[-2] * shape[-1];
  AttentionMap map{step.number(), empty({heads, shape[-2], shape[-1]}, f64),
                   size > 0 ? weights.size() / size : 0, ""};
  const auto to = map.weights.writable<double>();
  dispatch(weights.dtype(), [&]<class T>(T) {
    const auto from = weights.values<T>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<double>(from[i]);
  });
  return map;
}

}  // namespace

std::vector<AttentionMap> attention_maps(const Tape& tape, int first_step) {
  std::vector<AttentionMap> maps;
  for (int i = first_step; i < tape.size(); ++i) {
    const Step step = tape.step(i);
    if (!attends(step)) continue;
    try {
      maps.push_back(map_of(step));
    } catch (const Error& error) {
      maps.push_back({i, {}, 0, error.what()});
    }
  }
  return maps;
}

}  // namespace pencil::inspect
