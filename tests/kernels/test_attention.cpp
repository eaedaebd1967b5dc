#include "autograd/kernels/attention.hpp"

#include "tests/kernels/support.hpp"

using namespace pencil::kernels;
using namespace support;

namespace {

std::size_t at(Size i) { return static_cast<std::size_t>(i); }

bool visible(const AttentionShape& s, Size b, Size h, Size i, Size j) {
  if (s.causal && j > i + (s.keys - s.queries)) return false;
  const Size place =
      b * s.mask_stride[0] + h * s.mask_stride[1] + i * s.mask_stride[2] + j * s.mask_stride[3];
  return s.mask == nullptr || s.mask[place] != 0;
}

/// q, k, v, an upstream gradient, and what a kernel or the plain loops make of them.
template <class T>
struct Case {
  explicit Case(const AttentionShape& shape, unsigned seed = 1)
      : s(shape),
        q(random_numbers<T>(s.batch * s.queries * s.heads * s.width, seed)),
        k(random_numbers<T>(s.batch * s.keys * s.heads * s.width, seed + 1)),
        v(random_numbers<T>(s.batch * s.keys * s.heads * s.value_width, seed + 2)),
        dout(random_numbers<T>(s.batch * s.queries * s.heads * s.value_width, seed + 3)) {
    clear(99);
  }

  void clear(T with) {
    out.assign(dout.size(), with);
    lse.assign(at(s.batch * s.heads * s.queries), with);
    weights.assign(at(s.batch * s.heads * s.queries * s.keys), with);
    dq.assign(q.size(), with);
    dk.assign(k.size(), with);
    dv.assign(v.size(), with);
  }

  void run() {
    attention(s, q.data(), k.data(), v.data(), out.data(), lse.data());
    attention_gradient(s, q.data(), k.data(), v.data(), out.data(), lse.data(), dout.data(), dq.data(),
                       dk.data(), dv.data());
    attention_weights(s, q.data(), k.data(), weights.data());
  }

  /// The plain loops. Hidden keys are never looked at.
  void run_naive() {
    clear(0);
    const Size qk = s.heads * s.width, vo = s.heads * s.value_width;
    for (Size b = 0; b < s.batch; ++b)
      for (Size h = 0; h < s.heads; ++h)
        for (Size i = 0; i < s.queries; ++i) {
          const Size row = (b * s.heads + h) * s.queries + i;
          const Size qi = (b * s.queries + i) * qk + h * s.width,
                     oi = (b * s.queries + i) * vo + h * s.value_width;
          const auto kj = [&](Size j) { return (b * s.keys + j) * qk + h * s.width; };
          const auto vj = [&](Size j) { return (b * s.keys + j) * vo + h * s.value_width; };
          std::vector<Size> seen;
          std::vector<long double> score;
          for (Size j = 0; j < s.keys; ++j) {
            if (!visible(s, b, h, i, j)) continue;
            long double sum = 0;
            for (Size a = 0; a < s.width; ++a)
              sum += static_cast<long double>(q[at(qi + a)]) * k[at(kj(j) + a)];
            seen.push_back(j);
            score.push_back(sum * static_cast<long double>(static_cast<T>(s.scale)));
          }
          if (seen.empty()) {
            lse[at(row)] = -std::numeric_limits<T>::infinity();
            continue;
          }
          const long double most = *std::max_element(score.begin(), score.end());
          long double total = 0;
          for (const long double x : score) total += std::exp(x - most);
          const long double log_total = most + std::log(total);
          lse[at(row)] = static_cast<T>(log_total);
          std::vector<long double> mixed(at(s.value_width), 0);
          for (std::size_t n = 0; n < seen.size(); ++n) {
            const long double w = std::exp(score[n] - log_total);
            weights[at(row * s.keys + seen[n])] = static_cast<T>(w);
            for (Size a = 0; a < s.value_width; ++a) mixed[at(a)] += w * v[at(vj(seen[n]) + a)];
          }
          long double mean = 0;
          for (Size a = 0; a < s.value_width; ++a) {
            out[at(oi + a)] = static_cast<T>(mixed[at(a)]);
            mean += mixed[at(a)] * dout[at(oi + a)];
          }
          for (std::size_t n = 0; n < seen.size(); ++n) {
            const long double w = std::exp(score[n] - log_total);
            long double dw = 0;
            for (Size a = 0; a < s.value_width; ++a) {
              dw += static_cast<long double>(dout[at(oi + a)]) * v[at(vj(seen[n]) + a)];
              dv[at(vj(seen[n]) + a)] += static_cast<T>(w * dout[at(oi + a)]);
            }
            const long double ds = w * (dw - mean) * s.scale;
            for (Size a = 0; a < s.width; ++a) {
              dq[at(qi + a)] += static_cast<T>(ds * k[at(kj(seen[n]) + a)]);
              dk[at(kj(seen[n]) + a)] += static_cast<T>(ds * q[at(qi + a)]);
            }
          }
        }
  }

  AttentionShape s;
  std::vector<T> q, k, v, dout;
  std::vector<T> out, lse, weights, dq, dk, dv;
};

template <class T>
void check(const AttentionShape& s) {
  CAPTURE(s.batch, s.heads, s.queries, s.keys, s.width, s.value_width, s.causal, s.mask != nullptr,
          s.mask_stride[0], s.mask_stride[1], s.mask_stride[2], s.mask_stride[3]);
  Case<T> ours(s), naive(s);
  ours.run();
  naive.run_naive();
  const double near = 20 * tolerance<T>;
  CHECK(distance(ours.out, naive.out) < near);
  CHECK(distance(ours.lse, naive.lse) < near);
  CHECK(distance(ours.weights, naive.weights) < near);
  CHECK(distance(ours.dv, naive.dv) < near);
  // With one visible key a row's scores have no gradient: what is left is rounding.
  const auto rounding = [&](const std::vector<T>& a, const std::vector<T>& b) {
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      worst = std::max(worst, std::abs(static_cast<double>(a[i] - b[i])));
    return worst;
  };
  const double size = std::sqrt(static_cast<double>(s.width + s.value_width));
  CHECK((distance(ours.dq, naive.dq) < near || rounding(ours.dq, naive.dq) < near * size));
  CHECK((distance(ours.dk, naive.dk) < near || rounding(ours.dk, naive.dk) < near * size));
}

AttentionShape shape(Size batch, Size heads, Size queries, Size keys, Size width, Size value_width) {
  return {.batch = batch,
          .heads = heads,
          .queries = queries,
          .keys = keys,
          .width = width,
          .value_width = value_width,
          .scale = 1 / std::sqrt(static_cast<double>(std::max<Size>(width, 1)))};
}

}  // namespace

TEMPLATE_TEST_CASE("attention equals the plain loops at every length", "[attention]", float, double) {
  using T = TestType;
  for (Size length = 0; length <= 67; ++length) check<T>(shape(1, 2, length, length, 4, 4));
  for (const Size queries : {0, 1, 5, 16, 33})
    for (const Size keys : {0, 1, 4, 31, 48})
      for (const Size width : {1, 3, 32})
        for (const bool causal : {false, true}) {
          AttentionShape s = shape(2, 2, queries, keys, width, width == 3 ? 5 : width);
          s.causal = causal;
          check<T>(s);
        }
  check<T>(shape(0, 2, 5, 5, 4, 4));
  check<T>(shape(3, 1, 100, 100, 32, 32));
}

TEMPLATE_TEST_CASE("attention with a mask of every broadcast kind, causal and not", "[attention]", float,
                   double) {
  using T = TestType;
  constexpr Size batch = 2, heads = 3, queries = 7, keys = 21;
  for (int kind = 0; kind < 16; ++kind)
    for (const bool causal : {false, true}) {
      AttentionShape s = shape(batch, heads, queries, keys, 4, 3);
      s.causal = causal;
      const Size size[4] = {batch, heads, queries, keys};
      Size numbers = 1;
      for (int axis = 3; axis >= 0; --axis)
        if (kind >> axis & 1) {
          s.mask_stride[axis] = numbers;
          numbers *= size[axis];
        }
      auto mask = random_ids(numbers, 3, static_cast<unsigned>(kind));  // two of three are open
      mask[0] = 0;
      s.mask = mask.data();
      check<T>(s);
    }
}

TEMPLATE_TEST_CASE("attention leaves out the padding at the end of reviews", "[attention]", float, double) {
  using T = TestType;
  constexpr Size batch = 5, keys = 40, lengths[batch] = {40, 39, 17, 1, 0};
  std::vector<std::int32_t> mask(at(batch * keys));
  for (Size b = 0; b < batch; ++b) std::fill_n(mask.begin() + b * keys, lengths[b], 1);
  for (const bool causal : {false, true}) {
    AttentionShape s = shape(batch, 2, keys, keys, 8, 5);
    s.causal = causal;
    s.mask = mask.data();
    s.mask_stride[0] = keys;
    s.mask_stride[3] = 1;
    check<T>(s);
  }
}

TEMPLATE_TEST_CASE("attention cut into tiles of queries, few heads and many", "[attention][threads]", float,
                   double) {
  using T = TestType;
  for (const bool causal : {false, true})
    for (const Size keys : {300, 700, 2100}) {
      AttentionShape s = shape(1, 2, keys - 37, keys, 8, 5);
      s.causal = causal;
      std::vector<std::int32_t> mask = random_ids(keys, 4, 1);
      if (keys == 700) {
        s.mask = mask.data();
        s.mask_stride[3] = 1;
      }
      check<T>(s);
    }
  check<T>(shape(9, 2, 140, 90, 8, 8));
}

TEMPLATE_TEST_CASE("attention gives the same bits for any number of threads", "[attention][threads]", float,
                   double) {
  using T = TestType;
  for (AttentionShape s : {shape(1, 1, 700, 700, 8, 8), shape(6, 2, 40, 50, 16, 16)}) {
    s.causal = s.batch == 1;
    const auto result = [&](int team) {
      const WithThreads with(team);
      Case<T> c(s);
      c.run();
      return c;
    };
    const auto one = result(1);
    for (const int team : {2, 5}) {
      const auto many = result(team);
      CHECK(same_bits(one.out, many.out));
      CHECK(same_bits(one.lse, many.lse));
      CHECK(same_bits(one.dq, many.dq));
      CHECK(same_bits(one.dk, many.dk));
      CHECK(same_bits(one.dv, many.dv));
    }
  }
}

TEMPLATE_TEST_CASE("nothing of a hidden key reaches an output or a gradient", "[attention]", float, double) {
  using T = TestType;
  constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  for (const T bad : {T(1e30), inf, -inf, nan})
    for (const bool in_values : {false, true}) {
      CAPTURE(bad, in_values);
      constexpr Size keys = 19, hidden = 3;
      std::vector<std::int32_t> mask(at(keys), 1);
      mask[at(hidden)] = 0;
      AttentionShape s = shape(2, 2, 6, keys, 4, 4);
      s.mask = mask.data();
      s.mask_stride[3] = 1;
      Case<T> clean(s), dirty(s);
      for (Size b = 0; b < 2; ++b)
        for (Size a = 0; a < 8; ++a) (in_values ? dirty.v : dirty.k)[at((b * keys + hidden) * 8 + a)] = bad;
      clean.run();
      dirty.run();
      CHECK(distance(dirty.out, clean.out) < 2 * tolerance<T>);
      CHECK(distance(dirty.dq, clean.dq) < 4 * tolerance<T>);
      CHECK(distance(dirty.dk, clean.dk) < 4 * tolerance<T>);
      CHECK(distance(dirty.dv, clean.dv) < 4 * tolerance<T>);
      for (Size b = 0; b < 2; ++b)
        for (Size a = 0; a < 8; ++a) {
          CHECK(dirty.dk[at((b * keys + hidden) * 8 + a)] == 0);
          CHECK(dirty.dv[at((b * keys + hidden) * 8 + a)] == 0);
        }
      for (Size row = 0; row < 2 * 2 * 6; ++row) CHECK(dirty.weights[at(row * keys + hidden)] == 0);
    }
}

TEMPLATE_TEST_CASE("a hidden key has weight 0 beside a NaN or an infinity that is seen", "[attention]", float,
                   double) {
  using T = TestType;
  constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  for (const T bad : {inf, nan})
    for (const Size keys : {3, 19}) {
      CAPTURE(bad, keys);
      std::vector<std::int32_t> mask(at(keys), 1);
      mask[1] = 0;
      AttentionShape s = shape(1, 1, 2, keys, 4, 4);
      s.mask = mask.data();
      s.mask_stride[3] = 1;
      Case<T> c(s);
      c.k[0] = bad;
      c.q[0] = c.q[4] = 1;
      c.run();
      for (Size row = 0; row < 2; ++row) {
        CHECK(std::isnan(c.weights[at(row * keys)]));
        CHECK(c.weights[at(row * keys + 1)] == 0);
      }
    }
}

TEMPLATE_TEST_CASE("a later word's NaN does not reach the words before it in causal attention", "[attention]",
                   float, double) {
  using T = TestType;
  constexpr Size length = 9;
  AttentionShape s = shape(1, 1, length, length, 4, 4);
  s.causal = true;
  Case<T> c(s);
  for (Size a = 0; a < 4; ++a) {
    c.v[at((length - 1) * 4 + a)] = std::numeric_limits<T>::quiet_NaN();
    c.k[at((length - 1) * 4 + a)] = std::numeric_limits<T>::infinity();
    c.dout[at((length - 1) * 4 + a)] = std::numeric_limits<T>::infinity();
  }
  c.run();
  for (Size i = 0; i < (length - 1) * 4; ++i) {
    CHECK(std::isfinite(c.out[at(i)]));
    CHECK(std::isfinite(c.dq[at(i)]));
  }
  CHECK(std::isnan(c.out[at((length - 1) * 4)]));
}

TEMPLATE_TEST_CASE("a query that sees no key gives zeros and no gradient, and leaves the others as they are",
                   "[attention]", float, double) {
  using T = TestType;
  constexpr T inf = std::numeric_limits<T>::infinity();
  constexpr Size queries = 5, keys = 18;
  // The mask leaves query 0 the keys from 14 on, which being causal it may not see; and hides all from
  // query 3.
  std::vector<std::int32_t> mask(at(queries * keys), 1), all = mask;
  for (Size j = 0; j < keys; ++j) {
    if (j < 14) mask[at(j)] = 0;
    mask[at(3 * keys + j)] = 0;
  }
  AttentionShape s = shape(1, 2, queries, keys, 4, 4);
  s.causal = true;
  s.mask_stride[2] = keys;
  s.mask_stride[3] = 1;
  s.mask = mask.data();
  Case<T> c(s);
  s.mask = all.data();
  Case<T> open(s);
  for (Size a = 0; a < 8; ++a) c.dout[at(3 * 8 + a)] = inf;  // of no consequence either
  c.run();
  open.run();
  for (const Size i : {0, 3}) {
    for (Size a = 0; a < 8; ++a) {
      CHECK(c.out[at(i * 8 + a)] == 0);
      CHECK(c.dq[at(i * 8 + a)] == 0);
    }
    for (Size h = 0; h < 2; ++h) {
      CHECK(c.lse[at(h * queries + i)] == -inf);
      for (Size j = 0; j < keys; ++j) CHECK(c.weights[at((h * queries + i) * keys + j)] == 0);
    }
  }
  for (const Size i : {1, 2, 4})
    for (Size a = 0; a < 8; ++a) CHECK(c.out[at(i * 8 + a)] == open.out[at(i * 8 + a)]);
  for (const T x : c.dk) CHECK(std::isfinite(x));
  for (const T x : c.dv) CHECK(std::isfinite(x));
}

TEMPLATE_TEST_CASE("scores in the thousands are no trouble", "[attention]", float, double) {
  using T = TestType;
  AttentionShape s = shape(1, 1, 20, 20, 4, 4);
  Case<T> c(s);
  for (T& x : c.q) x *= 100;
  for (T& x : c.k) x *= 100;
  c.run();
  for (const auto* numbers : {&c.out, &c.lse, &c.dq, &c.dk, &c.dv})
    for (const T x : *numbers) CHECK(std::isfinite(x));
  for (Size i = 0; i < 20; ++i) {
    T sum = 0;
    for (Size j = 0; j < 20; ++j) sum += c.weights[at(i * 20 + j)];
    CHECK(sum == Approx(1));
  }
}

TEMPLATE_TEST_CASE("attention_gradient leaves out what is not asked for", "[attention]", float, double) {
  using T = TestType;
  for (const Size length : {12, 700}) {
    Case<T> all(shape(1, 1, length, length, 3, 3));
    all.run();
    const auto run = [&](std::vector<T>* dq, std::vector<T>* dk, std::vector<T>* dv) {
      for (auto* gradient : {dq, dk, dv})
        if (gradient) gradient->assign(gradient->size(), 99);
      attention_gradient(all.s, all.q.data(), all.k.data(), all.v.data(), all.out.data(), all.lse.data(),
                         all.dout.data(), dq ? dq->data() : nullptr, dk ? dk->data() : nullptr,
                         dv ? dv->data() : nullptr);
    };
    const auto dq = all.dq, dk = all.dk, dv = all.dv;
    run(&all.dq, nullptr, nullptr);
    CHECK(same_bits(all.dq, dq));
    run(nullptr, &all.dk, nullptr);
    CHECK(same_bits(all.dk, dk));
    run(nullptr, nullptr, &all.dv);
    CHECK(same_bits(all.dv, dv));
    run(nullptr, nullptr, nullptr);
  }
}
