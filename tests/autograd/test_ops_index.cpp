#include "autograd/ops/index.hpp"

#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/reduce.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

TEST_CASE("the padding row of a table gets gradient exactly 0, for few ids and for many") {
  for (const Shape& shape : {Shape{2, 3}, Shape{256, 3, 7}}) {
    Rng rng{5};
    Tensor ids = empty(shape, i32);
    for (std::int32_t& id : ids.writable<std::int32_t>()) id = static_cast<std::int32_t>(rng.below(10));
    const auto f = [&](const Tensor& table) { return sum(square(embedding(table, ids, {.padding = 3}))); };
    const Tensor table = random({10, 505}, 1, f32);
    const Tensor gradient = gradient_at(f, table);
    CHECK(all_zero(gradient[3]));
    CHECK_FALSE(all_zero(gradient));
    CHECK(
        same_numbers(embedding(table, tensor({3}, i32), {.padding = 3})[0], table[3]));  // read as any other
  }
}

TEST_CASE("ids out of range are refused with their position and wrap around nowhere") {
  const Tensor table = zeros({5, 2});
  CHECK_THROWS_WITH(embedding(table, tensor({{0, 1}, {2, -1}}, i32)),
                    Says("[embedding] id -1 at [1, 1] is out of range: the table has 5; allowed are 0 to 4"));
  CHECK_THROWS_WITH(embedding(table, tensor({5}, i32)), Says("id 5 at [0] is out of range"));
  CHECK_THROWS_WITH(embedding(table, tensor(9, i32)), Says("id 9 at [] is out of range"));
  CHECK_THROWS_WITH(embedding(table, tensor({1}, i32), {.padding = -2}),
                    Says("[embedding] there is no padding row -2"));
  CHECK_THROWS_WITH(embedding(table, tensor({1}, i32), {.padding = 5}),
                    Says("there is no padding row 5: the table has 5 rows"));
  CHECK_THROWS_WITH(embedding(table, zeros({2})), Says("[embedding] the ids must be i32"));
  CHECK_THROWS_WITH(embedding(zeros({5}), zeros({2}, i32)),
                    Says("the table must be (rows, width); it has shape (5)"));
  CHECK_THROWS_WITH(gather(table, 1, tensor({{2}}, i32)),
                    Says("[gather] ids have shape (1, 1) and the tensor (5, 2)"));
  CHECK_THROWS_WITH(gather(table, 0, tensor({{0, 7}}, i32)),
                    Says("[gather] id 7 at [0, 1] is out of range: the axis has 5"));
  CHECK_THROWS_WITH(one_hot(tensor({0, 3}, i32), 3), Says("[one_hot] id 3 at [1] is out of range"));
}

TEST_CASE("sizes below 0 are refused as such, and an empty range allows no id") {
  const Tensor ids = tensor({0, 1}, i32), y = zeros({2});
  CHECK_THROWS_WITH(one_hot(ids, -3), "[one_hot] the number of classes is -3; need 0 or more");
  CHECK_THROWS_WITH(scatter_add(y, 0, ids, -1), "[scatter_add] the size of the axis is -1; need 0 or more");
  CHECK_THROWS_WITH(scatter_rows(zeros({2, 3}), ids, -2),
                    "[scatter_rows] the number of rows is -2; need 0 or more");
  CHECK_THROWS_WITH(scatter_add(y, 0, ids, 0), "[scatter_add] id 0 at [0] is out of range: the axis has 0");
}

TEST_CASE("rows taken several times add up their gradients") {
  const Tensor ids = tensor({1, 1, 0, 1}, i32);
  const Tensor gradient =
      gradient_at([&](const Tensor& table) { return sum(embedding(table, ids)); }, zeros({3, 2}, f64));
  CHECK(numbers(gradient) == Numbers{1, 1, 3, 3, 0, 0});
}

TEST_CASE("gather takes along an axis, and one_hot marks") {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}}, f64);
  CHECK(numbers(gather(x, 1, tensor({{2, 0}, {1, 1}}, i32))) == Numbers{3, 1, 5, 5});
  CHECK(numbers(gather(x, 0, tensor({{1, 0, 1}}, i32))) == Numbers{4, 2, 6});
  CHECK(numbers(one_hot(tensor({2, 0}, i32), 3)) == Numbers{0, 0, 1, 1, 0, 0});
  CHECK(one_hot(tensor({2, 0}, i32), 3).dtype() == f32);
  CHECK(one_hot(tensor({2, 0}, i32), 3, i32).dtype() == i32);
  CHECK(one_hot(zeros({0}, i32), 3).shape() == Shape{0, 3});
}

TEST_CASE("an empty list of ids leaves an empty result and a gradient of zeros") {
  const Tensor none = zeros({0}, i32);
  CHECK(embedding(zeros({3, 2}), none).shape() == Shape{0, 2});
  const Tensor gradient =
      gradient_at([&](const Tensor& t) { return sum(embedding(t, none)); }, ones({3, 2}, f64));
  CHECK(all_zero(gradient));
  CHECK(gradient.shape() == Shape{3, 2});
}
