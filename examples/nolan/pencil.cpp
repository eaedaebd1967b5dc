#include "examples/nolan/pencil.hpp"

#include <cmath>
#include <limits>

namespace pencil::nolan {

namespace {

template <class Round>
Tensor each(const Tensor& x, Round&& round) {
  Tensor y = empty(x.shape(), x.dtype());
  dispatch_float(x.dtype(), [&]<class T>(T) {
    const auto from = x.values<T>();
    const auto to = y.writable<T>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<T>(round(static_cast<double>(from[i])));
  });
  return y;
}

// y ≈ x        dx = dy
Gradients straight(const Step&, const Tensor& dy, Needs) { return {dy}; }

const Op& places_op() {
  static const Op op{"round",
                     {.forward =
                          [](Inputs in, const Attributes&) {
                            return Computed(each(in[0], [](double x) { return rounded_to_places(x, 3); }));
                          },
                      .rule = straight}};
  return op;
}

const Op& digits_op() {
  static const Op op{"round",
                     {.forward =
                          [](Inputs in, const Attributes&) {
                            return Computed(each(in[0], [](double x) { return rounded_to_digits(x, 4); }));
                          },
                      .rule = straight}};
  return op;
}

}  // namespace

Tensor Hand::places(const Tensor& x) const { return pencil_ ? apply(places_op(), {x}) : x; }
Tensor Hand::digits(const Tensor& x) const { return pencil_ ? apply(digits_op(), {x}) : x; }

Look look(const Tensor& want, const Tensor& have, const Tensor& give, const Tensor& hidden,
          const Hand& hand) {
  Look found;
  {
    const Role role("scores");
    const Tensor matches = matmul(want, have, {.transpose_right = true});
    found.matches = hand.places(matches);
  }
  {
    const Role role("scale");
    const Tensor scaled = found.matches / std::sqrt(static_cast<double>(want.size(-1)));
    found.scaled = hand.places(scaled);
  }
  const Tensor heard = hidden.defined()
                           ? masked_fill(found.scaled, hidden, -std::numeric_limits<double>::infinity())
                           : found.scaled;
  {
    const Role role("blow_up");
    const Tensor blown = exp(heard);
    found.blown = hand.digits(blown);
  }
  {
    const Role role("total");
    const Tensor total = sum(found.blown, -1, true);
    found.total = hand.digits(total);
  }
  Tensor column;  // the fractions, each to be multiplied by a whole stick
  {
    const Role role("weights");
    const Tensor fractions = found.blown / found.total;
    found.fractions = hand.places(fractions);
    column = hand.pencil() ? unsqueeze(found.fractions, -1) : Tensor();
  }
  const Role role("mix");
  if (!hand.pencil()) {
    found.sticks = matmul(found.fractions, give);
    return found;
  }
  const Tensor products = column * give;
  found.parts = hand.places(products);
  const Tensor sticks = sum(found.parts, -2);
  found.sticks = hand.places(sticks);
  return found;
}

}  // namespace pencil::nolan
