// concat and stack.

#include "autograd/kernels/layout.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/support.hpp"
#include "autograd/ops/worked.hpp"
#include "autograd/tape.hpp"

namespace pencil {

using detail::axis_of;
using detail::built_in;

namespace {

void need_one_dtype(const char* who, Inputs parts) {
  if (parts.empty()) fail("[{}] needs at least one tensor", who);
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (parts[i].dtype() != parts[0].dtype())
      fail("[{}] dtypes differ: part 0 is {}, part {} is {}; cast with .to", who, name_of(parts[0].dtype()),
           i, name_of(parts[i].dtype()));
}

// The parts, each with `extent` rows along the joined axis for every place before it, side by side.
Tensor joined(Inputs parts, const Shape& shape, int axis) {
  const detail::Around around(shape, axis);
  Tensor y = empty(shape, parts[0].dtype());
  dispatch(y.dtype(), [&]<class T>(T) {
    std::vector<const T*> numbers;
    std::vector<std::int64_t> widths;
    for (const Tensor& part : parts) {
      numbers.push_back(part.values<T>().data());
      widths.push_back(around.outer == 0 ? 0 : part.size() / around.outer);
    }
    kernels::concat(around.outer, static_cast<int>(parts.size()), numbers.data(), widths.data(),
                    y.writable<T>().data());
  });
  return y;
}

Computed concat_forward(Inputs in, const Attributes& attributes) {
  const int axis = axis_of(attributes);
  std::int64_t total = 0;
  for (const Tensor& part : in) total += part.size(axis);
  return joined(in, in[0].shape().with(axis, total), axis);
}

Gradients concat_rule(const Step& s, const Tensor& dy, Needs needs) {
  const int axis = axis_of(s.attributes());
  Gradients gradients(static_cast<std::size_t>(s.inputs()));
  std::int64_t start = 0;
  for (int i = 0; i < s.inputs(); ++i) {
    const std::int64_t stop = start + s.raw_input(i).size(axis);
    if (needs[static_cast<std::size_t>(i)])
      gradients[static_cast<std::size_t>(i)] = slice(dy, axis, start, stop);
    start = stop;
  }
  return gradients;
}

Worked explain_concat(Worksheet& sheet, std::int64_t element) {
  const Step& s = sheet.step();
  const int axis = axis_of(s.attributes());
  const detail::Around whole(s.shape(), axis);
  int part = 0;
  std::int64_t index = whole.index(element);
  for (; index >= s.input(part).size(axis); ++part) index -= s.input(part).size(axis);
  return sheet.input(part, detail::Around(s.input(part).shape(), axis).line(whole.rest(element)).at(index));
}

// y = x₀ beside x₁ beside …        dxᵢ = its slice of dy
const Op concat_op =
    built_in("concat", {.forward = concat_forward, .rule = concat_rule, .explain = explain_concat});

// y[…, i, …] = xᵢ        dxᵢ = dy[…, i, …]
const Op stack_op = built_in(
    "stack", {.forward =
                  [](Inputs in, const Attributes& attributes) {
                    const int axis = axis_of(attributes);
                    return Computed(
                        joined(in, in[0].shape().inserted(axis, static_cast<std::int64_t>(in.size())), axis));
                  },
              .rule =
                  [](const Step& s, const Tensor& dy, Needs needs) {
                    const int axis = axis_of(s.attributes());
                    Gradients gradients(static_cast<std::size_t>(s.inputs()));
                    for (std::size_t i = 0; i < gradients.size(); ++i) {
                      if (!needs[i]) continue;
                      const auto at = static_cast<std::int64_t>(i);
                      const Tensor part = slice(dy, axis, at, at + 1);
                      gradients[i] = squeeze(part, axis);
                    }
                    return gradients;
                  },
              .explain =
                  [](Worksheet& sheet, std::int64_t element) {
                    const Step& s = sheet.step();
                    const detail::Around whole(s.shape(), axis_of(s.attributes()));
                    return sheet.input(static_cast<int>(whole.index(element)), whole.rest(element));
                  }});

}  // namespace

Tensor concat(std::span<const Tensor> parts, int axis, Where where) {
  need_one_dtype("concat", parts);
  const int resolved = parts[0].shape().resolve(axis, "concat");
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (parts[i].rank() != parts[0].rank() ||
        parts[i].shape().with(resolved, 0) != parts[0].shape().with(resolved, 0))
      fail("[concat] part 0 has shape {} and part {} has {}; only axis {} may differ", parts[0].shape(), i,
           parts[i].shape(), axis);
  return apply(concat_op, parts, {{"axis", std::int64_t{resolved}}}, where);
}

Tensor stack(std::span<const Tensor> parts, int axis, Where where) {
  need_one_dtype("stack", parts);
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (parts[i].shape() != parts[0].shape())
      fail("[stack] part 0 has shape {} and part {} has {}; all must have one shape", parts[0].shape(), i,
           parts[i].shape());
  const int rank = parts[0].rank() + 1;
  const int resolved = axis < 0 ? axis + rank : axis;
  (void)parts[0].shape().inserted(axis, 1);  // says what axes there are
  return apply(stack_op, parts, {{"axis", std::int64_t{resolved}}}, where);
}

}  // namespace pencil
