#include "autograd/ops/shape_ops.hpp"

#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/matmul.hpp"
#include "autograd/ops/reduce.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {
Tensor counted(const Shape& shape) {
  return reshape(arange(static_cast<std::int64_t>(shape.size()), f64), shape);
}
}  // namespace

TEST_CASE("the product of a transposed and of a sliced tensor has the right numbers") {
  const Tensor a = tensor({{1, 2}, {3, 4}, {5, 6}}, f64);
  const Tensor diagonal = tensor({{1, 0, 0}, {0, 2, 0}, {0, 0, 3}}, f64);
  const Numbers expected{1, 6, 15, 2, 8, 18};
  CHECK(numbers(matmul(transpose(a), diagonal)) == expected);
  CHECK(numbers(matmul(a, diagonal, {.transpose_left = true})) == expected);
  const Tensor x = counted({2, 3, 4}), w = counted({5, 4});
  const Tensor last = squeeze(slice(x, 1, 2, 3), 1);  // x[:, -1, :]
  CHECK(numbers(last) == Numbers{8, 9, 10, 11, 20, 21, 22, 23});
  const Tensor y = matmul(last, w, {.transpose_right = true});
  CHECK(same_numbers(y, linear(last, w)));
  CHECK(numbers(y)[0] == 8 * 0 + 9 * 1 + 10 * 2 + 11 * 3);
  CHECK(numbers(y)[9] == 20 * 16 + 21 * 17 + 22 * 18 + 23 * 19);
}

TEST_CASE("axes of size 1 and broadcast ones multiply right") {
  const Tensor row = counted({1, 2048}), column = transpose(row);
  CHECK(matmul(row, column).item() == 2047. * 2048 * 4095 / 6);
  const Tensor spread = broadcast_to(counted({13, 1}), {1, 1, 13, 13});
  const Tensor product = matmul(spread, ones({13, 1}, f64));
  CHECK(product.shape() == Shape{1, 1, 13, 1});
  CHECK(numbers(product)[12] == 12 * 13);
}

TEST_CASE("reshape works out the size left open, or says why it cannot") {
  CHECK(reshape(zeros({2, 6}), {-1, 3}).shape() == Shape{4, 3});
  CHECK(reshape(zeros({1}), {}).shape() == Shape{});
  CHECK(reshape(zeros({0, 3}), {0, 5}).shape() == Shape{0, 5});
  CHECK_THROWS_WITH(reshape(zeros({2, 6}), {-1, 5}),
                    Says("(2, 6) holds 12 numbers; the size left open (-1, axis 0)"));
  CHECK_THROWS_WITH(reshape(zeros({0, 3}), {-1, 0}), Says("cannot be worked out"));
  CHECK_THROWS_WITH(reshape(zeros({2, 6}), {-1, -1}), Says("only one size may be -1"));
  CHECK_THROWS_WITH(reshape(zeros({2, 6}), {5, 2}),
                    Says("[reshape] (2, 6) holds 12 numbers and (5, 2) holds 10"));
}

TEST_CASE("reshape shares its numbers, transpose copies them") {
  const Tensor x = counted({2, 3});
  CHECK(reshape(x, {3, 2}).values<double>().data() == x.values<double>().data());
  CHECK(numbers(transpose(x)) == Numbers{0, 3, 1, 4, 2, 5});
  CHECK(numbers(permute(counted({2, 1, 3}), {2, 0, 1})) == Numbers{0, 3, 1, 4, 2, 5});
  CHECK_THROWS_WITH(transpose(zeros({3})),
                    Says("[transpose] swaps the last two axes; the tensor has shape (3)"));
  CHECK_THROWS_WITH(permute(x, {0}), Says("[permute] 1 axes were given for shape (2, 3)"));
  CHECK_THROWS_WITH(permute(x, {0, -2}), Says("axis -2 of shape (2, 3) was given twice"));
}

TEST_CASE("squeeze and unsqueeze") {
  CHECK(squeeze(zeros({1, 2, 1})).shape() == Shape{2});
  CHECK(squeeze(zeros({1, 2, 1}), -1).shape() == Shape{1, 2});
  CHECK(unsqueeze(zeros({2, 3}), 1).shape() == Shape{2, 1, 3});
  CHECK(unsqueeze(zeros({2, 3}), -1).shape() == Shape{2, 3, 1});
  CHECK_THROWS_WITH(squeeze(zeros({1, 2}), 1), Says("[squeeze] axis 1 of shape (1, 2) has size 2"));
}

TEST_CASE("slices count from either end and stay inside") {
  const Tensor x = counted({5});
  CHECK(numbers(slice(x, 0, 1, -1)) == Numbers{1, 2, 3});
  CHECK(numbers(slice(x, 0, -2, 5)) == Numbers{3, 4});
  CHECK(numbers(slice(x, 0, 0, 5, 2)) == Numbers{0, 2, 4});
  CHECK(slice(x, 0, 2, 2).shape() == Shape{0});
  CHECK_THROWS_WITH(slice(x, 0, 0, 6),
                    Says("[slice] 0 to 6 is not inside axis 0 of shape (5), which has 5 rows"));
  CHECK_THROWS_WITH(slice(x, 0, 3, 2), Says("3 to 2 is not inside"));
  CHECK_THROWS_WITH(slice(x, 0, -6, 2), Says("-6 to 2 is not inside"));
  CHECK_THROWS_WITH(slice(x, 0, 0, 2, 0), Says("the step is 0"));
  CHECK(numbers(x[-1]) == Numbers{4});
  CHECK(numbers(counted({2, 3})[1]) == Numbers{3, 4, 5});
  CHECK_THROWS_WITH(x[5], Says("[row] there is no row 5 in shape (5): rows run from -5 to 4"));
  CHECK_THROWS_WITH(sum(x)[0], Says("a tensor of shape () has no rows"));
}

TEST_CASE("joining and splitting are each other's opposite") {
  const Tensor x = counted({2, 5, 3});
  for (const int axis : {1, -2}) {
    const auto parts = split(x, {2, 0, 3}, axis);
    CHECK(parts[1].shape() == Shape{2, 0, 3});
    CHECK(same_numbers(concat(parts, axis), x));
  }
  CHECK(numbers(stack({counted({2}), counted({2})}, 1)) == Numbers{0, 0, 1, 1});
  CHECK(stack({counted({2}), counted({2})}).shape() == Shape{2, 2});
  CHECK_THROWS_WITH(split(x, {2, 2}, 1),
                    Says("[split] the parts add up to 4; axis 1 of shape (2, 5, 3) has 5"));
  CHECK_THROWS_WITH(split(x, {-1, 6}, 1), Says("a part has size -1"));
  CHECK_THROWS_WITH(concat({x, zeros({2, 5, 4}, f64)}, 1),
                    Says("part 0 has shape (2, 5, 3) and part 1 has (2, 5, 4); only axis 1 may differ"));
  CHECK_THROWS_WITH(concat({x, zeros({2, 5, 3})}, 1),
                    Says("[concat] dtypes differ: part 0 is f64, part 1 is f32"));
  CHECK_THROWS_WITH(concat({}, 0), Says("[concat] needs at least one tensor"));
  CHECK_THROWS_WITH(stack({x, x[0]}), Says("[stack] part 0 has shape (2, 5, 3) and part 1 has (5, 3)"));
}

TEST_CASE("only the parts that need a gradient are cut out of a joined one") {
  const Tensor a = parameter(zeros({2}, f64)), b = zeros({3}, f64);
  Tape tape;
  tape.backward(sum(square(concat({a, b, a}, 0) + 1)));
  CHECK(numbers(a.grad()) == Numbers{4, 4});
}

TEST_CASE("more than 64 tensors can be joined") {
  std::vector<Tensor> parts;
  for (int i = 0; i < 70; ++i) parts.push_back(parameter(full({1}, i, f64)));
  Tape tape;
  tape.backward(sum(square(concat(parts, 0))));
  CHECK(parts[69].grad().item() == 138);
  CHECK(parts[3].grad().item() == 6);
}

TEST_CASE("broadcasting and its undoing refuse what does not fit") {
  CHECK(numbers(sum_to(ones({2, 3, 4}, f64), {3, 1})) == Numbers{8, 8, 8});
  CHECK(sum_to(ones({2, 3}, f64), {}).item() == 6);
  CHECK_THROWS_WITH(broadcast_to(zeros({2, 3}), {3}),
                    Says("[broadcast_to] (2, 3) does not broadcast to (3)"));
  CHECK_THROWS_WITH(broadcast_to(zeros({2, 3}), {2, 4}), Says("[broadcast_to] shapes do not broadcast"));
  CHECK_THROWS_WITH(sum_to(zeros({3}), {2, 3}), Says("[sum_to] (3) does not sum to (2, 3)"));
}

TEST_CASE("casts to whole numbers truncate, and refuse what does not fit") {
  CHECK(numbers(tensor({1.9, -1.9, 0}, f64).to(i32)) == Numbers{1, -1, 0});
  CHECK_THROWS_WITH(tensor({1, no_number}, f64).to(i32),
                    Says("[to] number 1 of the tensor of shape (2) is nan, which i32 does not hold"));
  CHECK_THROWS_WITH(tensor({3e9}, f64).to(i32), Says("3000000000"));
  CHECK(tensor({1, 2}, i32).to(f64).dtype() == f64);
  CHECK(gradient_at([](const Tensor& x) { return sum(square(x.to(f32))); }, tensor({3}, f64)).dtype() == f64);
}

TEST_CASE("detach cuts the chain of gradients") {
  const auto f = [](const Tensor& x) { return x * x.detach(); };
  CHECK(gradient_at(f, tensor(3, f64)).item() == 3);
}
