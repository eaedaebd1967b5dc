#include "autograd/ops/matmul.hpp"

#include <algorithm>

#include "autograd/kernels/blas.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/support.hpp"
#include "autograd/ops/worked.hpp"
#include "autograd/tape.hpp"

namespace pencil {

using detail::built_in;

namespace {

// A vector on the left is a row, one on the right a column.
Shape left_matrix(const Shape& shape) { return shape.rank() == 1 ? shape.inserted(0, 1) : shape; }
Shape right_matrix(const Shape& shape) { return shape.rank() == 1 ? shape.inserted(1, 1) : shape; }
Shape batch_of(const Shape& matrix) { return Shape(matrix.sizes().first(matrix.sizes().size() - 2)); }
Shape join(const Shape& batch, std::int64_t rows, std::int64_t columns) {
  return batch.inserted(batch.rank(), rows).inserted(batch.rank() + 1, columns);
}

// The sizes of a product: op(a) (m, k) times op(b) (k, n) for every batch.
struct Product {
  Product(const Shape& left, const Shape& right, bool transpose_left, bool transpose_right)
      : a(left_matrix(left)), b(right_matrix(right)), ta(transpose_left), tb(transpose_right) {
    m = a[ta ? -1 : -2];
    k = a[ta ? -2 : -1];
    n = b[tb ? -2 : -1];
    if (k != b[tb ? -1 : -2])
      fail("[matmul] inner sizes differ: left is {}, right is {}; need left[{}] == right[{}]", left, right,
           ta ? -2 : -1, tb || right.rank() == 1 ? -1 : -2);
    batch = broadcast(batch_of(a), batch_of(b), "matmul");
  }

  Shape a, b, batch;
  bool ta, tb;
  std::int64_t m, n, k;
};

Product product_of(const Shape& a, const Shape& b, const Attributes& attributes) {
  return {a, b, attributes.get<bool>("transpose_left"), attributes.get<bool>("transpose_right")};
}

// How far apart the matrices of one side lie along each axis of the broadcast batch.
void batch_strides(const Shape& matrix, const Shape& batch, std::int64_t* strides) {
  const int missing = batch.rank() + 2 - matrix.rank();
  std::int64_t step = matrix[-1] * matrix[-2];
  for (int axis = batch.rank() - 1; axis >= 0; --axis) {
    const std::int64_t size = axis >= missing ? matrix[axis - missing] : 1;
    strides[axis] = size == 1 ? 0 : step;
    step *= size;
  }
}

Computed matmul_forward(Inputs in, const Attributes& attributes) {
  const Product p = product_of(in[0].shape(), in[1].shape(), attributes);
  Tensor y = empty(join(p.batch, p.m, p.n), in[0].dtype());
  dispatch_float(y.dtype(), [&]<class T>(T) {
    const T* a = in[0].values<T>().data();
    const T* b = in[1].values<T>().data();
    T* c = y.writable<T>().data();
    if (p.b.rank() == 2 && !p.ta) {  // one right side for all: the left ones stack up to one tall matrix
      kernels::gemm<T>(false, p.tb, p.batch.size() * p.m, p.n, p.k, 1, a, p.k, b, p.b[-1], 0, c, p.n);
      return;
    }
    kernels::Batches batches;
    batches.rank = p.batch.rank();
    std::ranges::copy(p.batch, batches.size);
    batch_strides(p.a, p.batch, batches.a);
    batch_strides(p.b, p.batch, batches.b);
    batch_strides(y.shape(), p.batch, batches.c);
    kernels::gemm_batched<T>(batches, p.ta, p.tb, p.m, p.n, p.k, 1, a, p.a[-1], b, p.b[-1], 0, c, p.n);
  });
  Shape shape = y.shape();
  if (in[1].rank() == 1) shape = shape.without(-1);
  if (in[0].rank() == 1) shape = shape.without(in[1].rank() == 1 ? -1 : -2);
  return with_shape(y, shape);
}

Tensor reshaped(const Tensor& x, const Shape& shape) { return x.shape() == shape ? x : reshape(x, shape); }

Gradients matmul_rule(const Step& s, const Tensor& dy, Needs needs) {
  const Shape& a_shape = s.raw_input(0).shape();
  const Shape& b_shape = s.raw_input(1).shape();
  const Product p = product_of(a_shape, b_shape, s.attributes());
  const bool ta = p.ta, tb = p.tb;
  const Tensor dc = reshaped(dy, join(p.batch, p.m, p.n));
  Gradients gradients(2);
  if (needs[0]) {
    const Tensor b = reshaped(s.input(1), p.b);
    const Tensor da = ta ? matmul(b, dc, {.transpose_left = tb, .transpose_right = true})
                         : matmul(dc, b, {.transpose_right = !tb});
    gradients[0] = reshaped(sum_to(da, p.a), a_shape);
  }
  if (needs[1]) {
    Tensor a = reshaped(s.input(0), p.a);
    Tensor d = dc;
    if (p.b.rank() == 2 && !ta) {  // one sum over all batches instead of a product for each
      a = reshaped(a, {p.batch.size() * p.m, p.k});
      d = reshaped(d, {p.batch.size() * p.m, p.n});
    }
    const Tensor db = tb ? matmul(d, a, {.transpose_left = true, .transpose_right = ta})
                         : matmul(a, d, {.transpose_left = !ta});
    gradients[1] = reshaped(sum_to(db, p.b), b_shape);
  }
  return gradients;
}

// 2 m k n for each product of the batch: c, da and db alike
Work matmul_work(const WorkSizes& sizes, const Attributes& attributes) {
  const Product p = product_of(sizes.inputs[0], sizes.inputs[1], attributes);
  const double product = 2 * static_cast<double>(p.batch.size() * p.m) * static_cast<double>(p.k * p.n);
  return {product, product * (sizes.needs[0] + sizes.needs[1])};
}

// Where the matrix of one side begins that an element's batch pairs with it.
std::int64_t matrix_of(const Shape& matrix, const Shape& batch, std::int64_t at) {
  std::array<std::int64_t, Shape::max_rank> strides;
  batch_strides(matrix, batch, strides.data());
  std::int64_t place = 0;
  for (int axis = batch.rank() - 1; axis >= 0; --axis) {
    place += at % batch[axis] * strides[static_cast<std::size_t>(axis)];
    at /= batch[axis];
  }
  return place;
}

Worked sum_of_products(Worksheet& sheet, const detail::Line& a, const detail::Line& b) {
  std::vector<Worked> products;
  for (std::int64_t i = 0; i < a.count; ++i)
    products.push_back(sheet.input(0, a.at(i)) * sheet.input(1, b.at(i)));
  return sheet.sum(products);
}

Worked explain_matmul(Worksheet& sheet, std::int64_t element) {
  const Step& s = sheet.step();
  const Product p = product_of(s.input(0).shape(), s.input(1).shape(), s.attributes());
  const std::int64_t batch = element / (p.m * p.n), row = element / p.n % p.m, column = element % p.n;
  const std::int64_t a = matrix_of(p.a, p.batch, batch), b = matrix_of(p.b, p.batch, batch);
  const detail::Line left = p.ta ? detail::Line{a + row, p.m, p.k} : detail::Line{a + row * p.k, 1, p.k};
  const detail::Line right =
      p.tb ? detail::Line{b + column * p.k, 1, p.k} : detail::Line{b + column, p.n, p.k};
  return sum_of_products(sheet, left, right);
}

// c = a b        da = dc bᵀ        db = aᵀ dc        (the other way round where a or b is read transposed)
const Op matmul_op = built_in("matmul", {.forward = matmul_forward,
                                         .rule = matmul_rule,
                                         .work = matmul_work,
                                         .zero = "multiplied by 0",
                                         .explain = explain_matmul});

Shape rows_of(const Shape& x) { return Shape(x.sizes().first(x.sizes().size() - 1)); }

Computed linear_forward(Inputs in, const Attributes&) {
  const Tensor &x = in[0], &weight = in[1];
  const std::int64_t out = weight.size(0), width = weight.size(1);
  const Shape shape = x.shape().with(-1, out);
  const bool has_bias = in.size() == 3;
  Tensor y = has_bias ? detail::spread_copy(in[2], shape) : empty(shape, x.dtype());
  dispatch_float(x.dtype(), [&]<class T>(T) {
    kernels::gemm<T>(false, true, rows_of(shape).size(), out, width, 1, x.values<T>().data(), width,
                     weight.values<T>().data(), width, has_bias ? T{1} : T{0}, y.writable<T>().data(), out);
  });
  return y;
}

Gradients linear_rule(const Step& s, const Tensor& dy, Needs needs) {
  const Shape& x = s.raw_input(0).shape();
  const std::int64_t rows = rows_of(x).size();
  Gradients gradients(static_cast<std::size_t>(s.inputs()));
  if (needs[0]) gradients[0] = matmul(dy, s.input(1));
  if (needs[1]) {
    const Tensor d = reshaped(dy, {rows, dy.size(-1)});
    const Tensor flat = reshaped(s.input(0), {rows, x[-1]});
    gradients[1] = matmul(d, flat, {.transpose_left = true});
  }
  if (needs[2]) gradients[2] = sum_to(dy, {dy.size(-1)});
  return gradients;
}

// The products as in matmul; the bias is added once a number of the output, as are its gradients.
Work linear_work(const WorkSizes& sizes, const Attributes&) {
  const auto numbers = static_cast<double>(sizes.output.size());
  const double product = 2 * numbers * static_cast<double>(sizes.inputs[0][-1]);
  const double bias = sizes.inputs.size() == 3 ? numbers : 0;
  return {product + bias, product * (sizes.needs[0] + sizes.needs[1]) + (sizes.needs[2] ? numbers : 0)};
}

Worked explain_linear(Worksheet& sheet, std::int64_t element) {
  const Step& s = sheet.step();
  const std::int64_t out = s.shape()[-1], width = s.input(1).size(1);
  const std::int64_t row = element / out, column = element % out;
  const Worked products = sum_of_products(sheet, {row * width, 1, width}, {column * width, 1, width});
  return s.inputs() == 3 ? products + sheet.input(2, column) : products;
}

// y = x Wᵀ + b        dx = dy W        dW = dyᵀ x        db = dy summed over all rows
const Op linear_op = built_in("linear", {.forward = linear_forward,
                                         .rule = linear_rule,
                                         .work = linear_work,
                                         .zero = "multiplied by 0",
                                         .explain = explain_linear});

void check_linear(const Tensor& x, const Tensor& weight) {
  detail::need_floats("linear", x, weight);
  if (weight.rank() != 2) fail("[linear] the weight must be (out, in); it has shape {}", weight.shape());
  if (x.rank() == 0 || x.size(-1) != weight.size(1))
    fail(
        "[linear] input and weight do not fit: the input is {}, the weight (out, in) {}; need input[-1] == "
        "{}",
        x.shape(), weight.shape(), weight.size(1));
}

}  // namespace

Tensor matmul(const Located& a, const Located& b, const MatmulOptions& options) {
  detail::need_floats("matmul", a, b);
  if (a->rank() == 0 || b->rank() == 0)
    fail(
        "[matmul] needs at least one axis on either side: left is {}, right is {}; multiply by a number with "
        "*",
        a->shape(), b->shape());
  if ((options.transpose_left && a->rank() == 1) || (options.transpose_right && b->rank() == 1))
    fail("[matmul] a vector cannot be transposed: left is {}, right is {}", a->shape(), b->shape());
  return apply(matmul_op, {a, b},
               {{"transpose_left", options.transpose_left}, {"transpose_right", options.transpose_right}});
}

Tensor linear(const Located& x, const Located& weight) {
  check_linear(x, weight);
  return apply(linear_op, {x, weight});
}

Tensor linear(const Located& x, const Located& weight, const Located& bias) {
  check_linear(x, weight);
  detail::need_floats("linear", x, bias);
  if (bias->shape() != Shape{weight->size(0)})
    fail("[linear] the bias must be ({}): one number for each row of the weight {}; it has shape {}",
         weight->size(0), weight->shape(), bias->shape());
  return apply(linear_op, {x, weight, bias});
}

}  // namespace pencil
