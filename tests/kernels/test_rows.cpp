#include "autograd/kernels/rows.hpp"

#include "tests/kernels/support.hpp"

using namespace pencil::kernels;
using namespace support;

namespace {

using Row = std::vector<long double>;

/// Calls f(row) for every row, in long double, and joins what it returns.
template <class T, class F>
Row by_row(Size rows, Size width, const std::vector<T>& x, F f) {
  Row joined;
  for (Size row = 0; row < rows; ++row) {
    const Row result = f(Row(x.begin() + row * width, x.begin() + (row + 1) * width), row);
    joined.insert(joined.end(), result.begin(), result.end());
  }
  return joined;
}

long double naive_logsumexp(const Row& x) {
  const long double most = *std::max_element(x.begin(), x.end());
  long double sum = 0;
  for (const long double a : x) sum += std::exp(a - most);
  return most + std::log(sum);
}

/// (f(x + h) − f(x − h)) / 2h summed against dy, in long double: the gradient to expect.
template <class F>
Row numeric_gradient(Row x, const Row& dy, F f) {
  Row dx;
  constexpr long double h = 1e-6L;
  for (long double& a : x) {
    const long double at = a;
    a = at + h;
    const Row above = f(x);
    a = at - h;
    const Row below = f(x);
    a = at;
    long double sum = 0;
    for (std::size_t i = 0; i < dy.size(); ++i) sum += dy[i] * (above[i] - below[i]);
    dx.push_back(sum / (2 * h));
  }
  return dx;
}

Row naive_softmax(const Row& x) {
  Row y;
  for (const long double a : x) y.push_back(std::exp(a - naive_logsumexp(x)));
  return y;
}

Row naive_log_softmax(const Row& x) {
  Row y;
  for (const long double a : x) y.push_back(a - naive_logsumexp(x));
  return y;
}

Row naive_layer_norm(const Row& x, long double epsilon, const Row& weight, const Row& bias) {
  const auto n = static_cast<long double>(x.size());
  long double mean = 0, variance = 0;
  for (const long double a : x) mean += a / n;
  for (const long double a : x) variance += (a - mean) * (a - mean) / n;
  Row y;
  for (std::size_t i = 0; i < x.size(); ++i)
    y.push_back((x[i] - mean) / std::sqrt(variance + epsilon) * weight[i] + bias[i]);
  return y;
}

Row slice_of(const Row& x, Size row, Size width) {
  return Row(x.begin() + row * width, x.begin() + (row + 1) * width);
}

template <class T>
Row wide(const std::vector<T>& x) {
  return Row(x.begin(), x.end());
}

/// For gradients against differences of step 1e-6.
template <class T>
constexpr double gradient_tolerance = sizeof(T) == 4 ? 1e-5 : 1e-9;

}  // namespace

TEMPLATE_TEST_CASE("softmax, log_softmax and logsumexp at every width", "[rows]", float, double) {
  using T = TestType;
  constexpr Size rows = 3;
  for (Size width = 1; width <= 67; ++width) {
    CAPTURE(width);
    const auto x = random_numbers<T>(rows * width, static_cast<unsigned>(width), 3);
    const auto dy = random_numbers<T>(rows * width, 2);
    auto y = filled<T>(rows * width, 9), dx = y;
    softmax<T>(rows, width, nullptr, x.data(), y.data());
    CHECK(distance(y, by_row(rows, width, x, [](const Row& r, Size) { return naive_softmax(r); })) <
          tolerance<T>);
    softmax_gradient<T>(rows, width, nullptr, y.data(), dy.data(), dx.data());
    CHECK(distance(dx, by_row(rows, width, x, [&](const Row& r, Size row) {
                     return numeric_gradient(r, slice_of(wide(dy), row, width), naive_softmax);
                   })) < (width == 1 ? 2 : gradient_tolerance<T>));
    if (width == 1) CHECK(dx == filled<T>(rows, 0));

    log_softmax(rows, width, x.data(), y.data());
    CHECK(distance(y, by_row(rows, width, x, [](const Row& r, Size) { return naive_log_softmax(r); })) <
          tolerance<T>);
    log_softmax_gradient(rows, width, y.data(), dy.data(), dx.data());
    if (width > 1)
      CHECK(distance(dx, by_row(rows, width, x, [&](const Row& r, Size row) {
                       return numeric_gradient(r, slice_of(wide(dy), row, width), naive_log_softmax);
                     })) < gradient_tolerance<T>);

    auto lse = filled<T>(rows, 9);
    logsumexp(rows, width, x.data(), lse.data());
    CHECK(distance(lse, by_row(rows, width, x, [](const Row& r, Size) { return Row{naive_logsumexp(r)}; })) <
          tolerance<T>);
    logsumexp_gradient(rows, width, x.data(), lse.data(), dy.data(), dx.data());
    CHECK(distance(dx, by_row(rows, width, x, [&](const Row& r, Size row) {
                     Row out = naive_softmax(r);
                     for (auto& a : out) a *= static_cast<long double>(dy[static_cast<std::size_t>(row)]);
                     return out;
                   })) < gradient_tolerance<T>);
  }
}

TEMPLATE_TEST_CASE("softmax stays finite at large numbers", "[rows]", float, double) {
  using T = TestType;
  constexpr T inf = std::numeric_limits<T>::infinity();
  std::vector<T> x{10000, 9999, -10000, -inf}, y(4);
  softmax<T>(1, 4, nullptr, x.data(), y.data());
  CHECK(y[0] == Approx(0.7310585786));
  CHECK(y[2] == 0);
  CHECK(y[3] == 0);
  log_softmax(1, 4, x.data(), y.data());
  CHECK(y[0] == Approx(-0.3132616875).epsilon(1e-3));
  CHECK(y[3] == -inf);
}

TEMPLATE_TEST_CASE("rows of minus infinity", "[rows]", float, double) {
  using T = TestType;
  constexpr T inf = std::numeric_limits<T>::infinity();
  const auto x = filled<T>(20, -inf);
  auto y = filled<T>(20, 1);
  softmax<T>(1, 20, nullptr, x.data(), y.data());
  for (const T a : y) CHECK(std::isnan(a));  // as IEEE has it
  T lse = 0;
  logsumexp(1, 20, x.data(), &lse);
  CHECK(lse == -inf);
  const std::vector<T> infinite{1, inf};
  logsumexp(1, 2, infinite.data(), &lse);
  CHECK(lse == inf);
  logsumexp<T>(1, 0, nullptr, &lse);
  CHECK(lse == -inf);
}

TEMPLATE_TEST_CASE("a masked place is 0 beside a NaN or an infinity that counts", "[rows]", float, double) {
  using T = TestType;
  constexpr T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
  for (const Size width : {3, 16, 37})
    for (const T bad : {nan, inf}) {
      CAPTURE(width, bad);
      auto x = random_numbers<T>(width, 1), y = x;
      std::vector<std::int32_t> mask(static_cast<std::size_t>(width), 1);
      x[0] = bad;
      mask[1] = mask[static_cast<std::size_t>(width - 1)] = 0;
      softmax(1, width, mask.data(), x.data(), y.data());
      CHECK(std::isnan(y[0]));
      CHECK(y[1] == 0);
      CHECK(y.back() == 0);
    }
}

TEMPLATE_TEST_CASE("a masked softmax gives masked places exactly 0 and lets nothing through", "[rows]", float,
                   double) {
  using T = TestType;
  constexpr T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
  for (const Size width : {3, 16, 37}) {
    CAPTURE(width);
    auto x = random_numbers<T>(2 * width, 1), dy = random_numbers<T>(2 * width, 2);
    const auto open = [&](Size i) { return i % 3 != 1; };
    std::vector<std::int32_t> mask(static_cast<std::size_t>(2 * width), 0);  // the second row: nothing left
    std::vector<T> kept, kept_dy;
    for (Size i = 0; i < width; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (open(i)) {
        mask[at] = i % 2 == 0 ? 1 : -5;
        kept.push_back(x[at]);
        kept_dy.push_back(dy[at]);
      } else {
        x[at] = i % 2 == 0 ? nan : inf;
        dy[at] = i % 2 == 0 ? inf : nan;
      }
    }
    for (Size i = width; i < 2 * width; ++i) dy[static_cast<std::size_t>(i)] = nan;
    auto y = filled<T>(2 * width, 9), dx = y;
    softmax(2, width, mask.data(), x.data(), y.data());
    softmax_gradient(2, width, mask.data(), y.data(), dy.data(), dx.data());

    const auto count = static_cast<Size>(kept.size());
    std::vector<T> kept_y(kept.size()), kept_dx(kept.size()), got_y, got_dx;
    softmax<T>(1, count, nullptr, kept.data(), kept_y.data());
    softmax_gradient<T>(1, count, nullptr, kept_y.data(), kept_dy.data(), kept_dx.data());
    for (Size i = 0; i < width; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (open(i)) {
        got_y.push_back(y[at]);
        got_dx.push_back(dx[at]);
      } else {
        CHECK(y[at] == 0);
        CHECK(dx[at] == 0);
      }
    }
    CHECK(distance(got_y, kept_y) < tolerance<T>);
    CHECK(distance(got_dx, kept_dx) < 4 * tolerance<T>);
    for (Size i = width; i < 2 * width; ++i) {
      CHECK(y[static_cast<std::size_t>(i)] == 0);
      CHECK(dx[static_cast<std::size_t>(i)] == 0);
    }
  }
}

TEMPLATE_TEST_CASE("kernels of rows accept a width of 0 and no rows", "[rows]", float, double) {
  using T = TestType;
  for (const Size rows : {0, 10}) {
    const Size width = rows == 0 ? 5 : 0;
    T none = 7;
    auto of_rows = filled<T>(rows, 1);
    softmax<T>(rows, width, nullptr, &none, &none);
    softmax_gradient<T>(rows, width, nullptr, &none, &none, &none);
    log_softmax(rows, width, &none, &none);
    log_softmax_gradient(rows, width, &none, &none, &none);
    layer_norm<T>(rows, width, T(1e-5), &none, nullptr, nullptr, &none, of_rows.data(), of_rows.data());
    CHECK(none == 7);
    auto dweight = filled<T>(width, 9), dbias = dweight;
    layer_norm_gradient<T>(rows, width, &none, of_rows.data(), of_rows.data(), nullptr, &none, &none,
                           dweight.data(), dbias.data());
    CHECK(none == 7);
    CHECK(dweight == filled<T>(width, 0));
    CHECK(dbias == filled<T>(width, 0));
  }
}

TEMPLATE_TEST_CASE("cross_entropy and its gradient", "[rows]", float, double) {
  using T = TestType;
  constexpr Size rows = 50, width = 7;
  const auto x = random_numbers<T>(rows * width, 1, 2), dloss = random_numbers<T>(rows, 2);
  const auto labels = random_ids(rows, width, 3);
  auto loss = filled<T>(rows, 9), lse = loss;
  auto dx = filled<T>(rows * width, 9);
  cross_entropy(rows, width, x.data(), labels.data(), loss.data(), lse.data());
  const auto naive = [&](const Row& r, Size row) {
    return Row{naive_logsumexp(r) - r[static_cast<std::size_t>(labels[static_cast<std::size_t>(row)])]};
  };
  CHECK(distance(loss, by_row(rows, width, x, naive)) < tolerance<T>);
  cross_entropy_gradient(rows, width, x.data(), labels.data(), lse.data(), dloss.data(), dx.data());
  CHECK(distance(dx, by_row(rows, width, x, [&](const Row& r, Size row) {
                   return numeric_gradient(
                       r, Row{static_cast<long double>(dloss[static_cast<std::size_t>(row)])},
                       [&](const Row& a) { return naive(a, row); });
                 })) < gradient_tolerance<T>);
}

TEMPLATE_TEST_CASE("layer_norm and its gradients at every width", "[rows][threads]", float, double) {
  using T = TestType;
  constexpr T epsilon = static_cast<T>(1e-3);
  const auto check = [&](Size rows, Size width, bool plain) {
    CAPTURE(rows, width, plain);
    auto x = random_numbers<T>(rows * width, 1);
    for (T& a : x) a += 3;
    const auto weight = plain ? filled<T>(width, 1) : random_numbers<T>(width, 2);
    const auto bias = plain ? filled<T>(width, 0) : random_numbers<T>(width, 3);
    const auto dy = random_numbers<T>(rows * width, 4);
    auto y = filled<T>(rows * width, 9), dx = y;
    auto mean = filled<T>(rows, 9), rstd = mean;
    auto dweight = filled<T>(width, 9), dbias = dweight;
    layer_norm<T>(rows, width, epsilon, x.data(), plain ? nullptr : weight.data(),
                  plain ? nullptr : bias.data(), y.data(), mean.data(), rstd.data());
    const auto naive = [&](const Row& r) { return naive_layer_norm(r, epsilon, wide(weight), wide(bias)); };
    CHECK(distance(y, by_row(rows, width, x, [&](const Row& r, Size) { return naive(r); })) <
          20 * tolerance<T>);
    layer_norm_gradient<T>(rows, width, x.data(), mean.data(), rstd.data(), plain ? nullptr : weight.data(),
                           dy.data(), dx.data(), dweight.data(), dbias.data());
    Row expected_dweight(static_cast<std::size_t>(width), 0), expected_dbias = expected_dweight;
    for (Size row = 0; row < rows; ++row) {
      const Row normal =
          naive_layer_norm(slice_of(wide(x), row, width), epsilon, Row(static_cast<std::size_t>(width), 1),
                           Row(static_cast<std::size_t>(width), 0));
      for (Size i = 0; i < width; ++i) {
        const auto d = static_cast<long double>(dy[static_cast<std::size_t>(row * width + i)]);
        expected_dweight[static_cast<std::size_t>(i)] += d * normal[static_cast<std::size_t>(i)];
        expected_dbias[static_cast<std::size_t>(i)] += d;
      }
    }
    CHECK(distance(dweight, expected_dweight) < 40 * tolerance<T>);
    CHECK(distance(dbias, expected_dbias) < 20 * tolerance<T>);
    if (width > 1 && rows < 10)
      CHECK(
          distance(
              dx, by_row(rows, width, x, [&](const Row& r, Size row) {
                return numeric_gradient(r, slice_of(wide(dy), row, width), naive);
              })) < (width == 2 ? 40 : 4) * gradient_tolerance<T>);  // of two numbers almost nothing is left
    auto alone = filled<T>(rows * width, 9);
    layer_norm_gradient<T>(rows, width, x.data(), mean.data(), rstd.data(), plain ? nullptr : weight.data(),
                           dy.data(), alone.data(), nullptr, nullptr);
    CHECK(same_bits(alone, dx));
  };
  for (Size width = 1; width <= 67; ++width) check(3, width, width % 2 == 0);
  check(1000, 33, false);

  const auto x = random_numbers<T>(1000 * 33, 1), dy = random_numbers<T>(1000 * 33, 2);
  const auto mean = filled<T>(1000, 0), rstd = filled<T>(1000, 1);
  const auto sums = [&](int team) {
    const WithThreads with(team);
    auto both = filled<T>(66, 0);
    layer_norm_gradient<T>(1000, 33, x.data(), mean.data(), rstd.data(), nullptr, dy.data(), nullptr,
                           both.data(), both.data() + 33);
    return both;
  };
  CHECK(same_bits(sums(1), sums(3)));
}
