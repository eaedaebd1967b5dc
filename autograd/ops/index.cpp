#include "autograd/ops/index.hpp"

#include "autograd/kernels/indexing.hpp"
#include "autograd/ops/compare.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/support.hpp"
#include "autograd/ops/worked.hpp"
#include "autograd/tape.hpp"

namespace pencil {

using detail::Around;
using detail::axis_of;
using detail::built_in;

namespace {

void check_ids(const char* who, const Tensor& ids, std::int64_t end, const char* of) {
  detail::need_i32(who, "ids", ids);
  const auto numbers = ids.values<std::int32_t>();
  const std::int64_t bad = kernels::find_outside(numbers.data(), ids.size(), end);
  if (bad >= 0)
    fail("[{}] id {} at {} is out of range: {} has {}{}", who, numbers[static_cast<std::size_t>(bad)],
         index_text(ids.shape(), bad), of, end, end > 0 ? fmt::format("; allowed are 0 to {}", end - 1) : "");
}

void check_size(const char* who, const char* what, std::int64_t size) {
  if (size < 0) fail("[{}] {} is {}; need 0 or more", who, what, size);
}

const std::int32_t* numbers_of(const Tensor& ids) { return ids.values<std::int32_t>().data(); }

// An id, which says what is read or written.
std::int64_t id_at(Worksheet& sheet, std::int64_t place) {
  return static_cast<std::int64_t>(sheet.read(1, place));
}

Worked explain_gather(Worksheet& sheet, std::int64_t element) {
  const int axis = axis_of(sheet.step().attributes());
  const std::int64_t id = id_at(sheet, element), rest = Around(sheet.step().shape(), axis).rest(element);
  sheet.note(fmt::format("number {} along axis {}", id, axis));
  return sheet.input(0, Around(sheet.step().input(0).shape(), axis).line(rest).at(id));
}

// The sum of some places whose ids are `id`: of y's numbers from `first` on, `step` apart.
Worked sum_at(Worksheet& sheet, std::int64_t id, const detail::Line& ids, const detail::Line& y) {
  std::vector<Worked> added;
  for (std::int64_t i = 0; i < ids.count; ++i)
    if (id_at(sheet, ids.at(i)) == id) added.push_back(sheet.input(0, y.at(i)));
  sheet.note(fmt::format("{} of {} ids are {}", added.size(), ids.count, id));
  return sheet.sum(added);
}

Worked explain_scatter_add(Worksheet& sheet, std::int64_t element) {
  const int axis = axis_of(sheet.step().attributes());
  const Around x(sheet.step().shape(), axis);
  const detail::Line y = Around(sheet.step().input(0).shape(), axis).line(x.rest(element));
  return sum_at(sheet, x.index(element), y, y);
}

// y[…, j, …] = x[…, ids[…, j, …], …]        dx = dy added up at ids
const Op gather_op =
    built_in("gather",
             {.forward =
                  [](Inputs in, const Attributes& attributes) {
                    const Tensor &x = in[0], &ids = in[1];
                    const int axis = axis_of(attributes);
                    check_ids("gather", ids, x.size(axis), "the axis");
                    const detail::Around around(x.shape(), axis);
                    Tensor y = empty(ids.shape(), x.dtype());
                    dispatch(x.dtype(), [&]<class T>(T) {
                      kernels::take_along_axis(around.outer, around.size, around.inner, ids.size(axis),
                                               x.values<T>().data(), numbers_of(ids), y.writable<T>().data());
                    });
                    return Computed(y);
                  },
              .rule =
                  [](const Step& s, const Tensor& dy, Needs) {
                    const int axis = axis_of(s.attributes());
                    return Gradients{scatter_add(dy, axis, s.input(1), s.raw_input(0).size(axis)), Tensor()};
                  },
              .zero = "never picked",
              .explain = explain_gather});

// x = y added up at ids        dy[…, j, …] = dx[…, ids[…, j, …], …]
const Op scatter_add_op = built_in(
    "scatter_add", {.forward =
                        [](Inputs in, const Attributes& attributes) {
                          const Tensor &y = in[0], &ids = in[1];
                          const int axis = axis_of(attributes);
                          const std::int64_t size = attributes.get<std::int64_t>("size");
                          check_ids("scatter_add", ids, size, "the axis");
                          const Shape shape = y.shape().with(axis, size);
                          const detail::Around around(shape, axis);
                          Tensor x = empty(shape, y.dtype());
                          dispatch(x.dtype(), [&]<class T>(T) {
                            kernels::take_along_axis_gradient(around.outer, size, around.inner, y.size(axis),
                                                              y.values<T>().data(), numbers_of(ids),
                                                              x.writable<T>().data());
                          });
                          return Computed(x);
                        },
                    .rule =
                        [](const Step& s, const Tensor& dx, Needs) {
                          return Gradients{gather(dx, axis_of(s.attributes()), s.input(1)), Tensor()};
                        },
                    .explain = explain_scatter_add});

std::int64_t padding_of(const Attributes& attributes) { return attributes.get<std::int64_t>("padding"); }

Computed embedding_forward(Inputs in, const Attributes&) {
  const Tensor &table = in[0], &ids = in[1];
  const std::int64_t rows = table.size(0), width = table.size(1);
  check_ids("embedding", ids, rows, "the table");
  Tensor y = empty(ids.shape().inserted(ids.rank(), width), table.dtype());
  dispatch_float(table.dtype(), [&]<class T>(T) {
    kernels::gather_rows(table.values<T>().data(), numbers_of(ids), ids.size(), width,
                         y.writable<T>().data());
  });
  return y;
}

Worked explain_embedding(Worksheet& sheet, std::int64_t element) {
  const std::int64_t width = sheet.step().shape()[-1], row = id_at(sheet, element / width);
  sheet.note(fmt::format("row {} of the table", row));
  return sheet.input(0, row * width + element % width);
}

// y[…] = table[ids[…]]        dtable = dy added up at ids, but for the padding row
const Op embedding_op =
    built_in("embedding", {.forward = embedding_forward,
                           .rule =
                               [](const Step& s, const Tensor& dy, Needs) {
                                 return Gradients{scatter_rows(dy, s.input(1), s.raw_input(0).size(0),
                                                               {.padding = padding_of(s.attributes())}),
                                                  Tensor()};
                               },
                           .zero = "never looked up, or padding",
                           .explain = explain_embedding});

Computed scatter_rows_forward(Inputs in, const Attributes& attributes) {
  const Tensor &y = in[0], &ids = in[1];
  const std::int64_t rows = attributes.get<std::int64_t>("rows"), width = y.size(-1);
  check_ids("scatter_rows", ids, rows, "the table");
  Tensor table = empty({rows, width}, y.dtype());
  dispatch_float(y.dtype(), [&]<class T>(T) {
    kernels::scatter_add_rows(y.values<T>().data(), numbers_of(ids), ids.size(), width, rows,
                              table.writable<T>().data(), padding_of(attributes));
  });
  return table;
}

Worked explain_scatter_rows(Worksheet& sheet, std::int64_t element) {
  const Step& s = sheet.step();
  const std::int64_t width = s.shape()[-1], row = element / width;
  if (row != padding_of(s.attributes())) {
    const std::int64_t count = s.input(1).size();
    return sum_at(sheet, row, {0, 1, count}, {element % width, width, count});
  }
  sheet.note("0: the padding row");
  return 0;
}

// table = y added up at ids, but for the padding row        dy[…] = dtable[ids[…]], 0 for padding
const Op scatter_rows_op =
    built_in("scatter_rows", {.forward = scatter_rows_forward,
                              .rule =
                                  [](const Step& s, const Tensor& dtable, Needs) {
                                    const Tensor& ids = s.input(1);
                                    const Tensor rows = embedding(dtable, ids);
                                    const std::int64_t padding = padding_of(s.attributes());
                                    if (padding < 0) return Gradients{rows, Tensor()};
                                    const Tensor is_padding = unsqueeze(equal(ids, padding), -1);
                                    return Gradients{masked_fill(rows, is_padding, 0), Tensor()};
                                  },
                              .explain = explain_scatter_rows});

// y[…, c] = 1 where ids[…] = c, else 0: a mark
const Op one_hot_op = built_in(
    "one_hot", {.forward =
                    [](Inputs in, const Attributes& attributes) {
                      const Tensor& ids = in[0];
                      const std::int64_t classes = attributes.get<std::int64_t>("classes");
                      check_ids("one_hot", ids, classes, "one_hot");
                      const std::string& dtype = attributes.get<std::string>("dtype");
                      Tensor y =
                          empty(ids.shape().inserted(ids.rank(), classes), dtype == name_of(f32)   ? f32
                                                                           : dtype == name_of(f64) ? f64
                                                                                                   : i32);
                      dispatch(y.dtype(), [&]<class T>(T) {
                        kernels::one_hot(numbers_of(ids), ids.size(), classes, y.writable<T>().data());
                      });
                      return Computed(y);
                    },
                .explain =
                    [](Worksheet& sheet, std::int64_t element) {
                      const std::int64_t classes = sheet.step().shape()[-1];
                      return select(sheet.input(0, element / classes) == element % classes, 1, 0);
                    }});

void check_padding(const char* who, const EmbeddingOptions& options, std::int64_t rows) {
  if (options.padding < -1 || options.padding >= rows)
    fail("[{}] there is no padding row {}: the table has {} rows; allowed are 0 to {}, or -1 for none", who,
         options.padding, rows, rows - 1);
}

}  // namespace

Tensor gather(const Located& x, int axis, const Located& ids) {
  detail::need_i32("gather", "ids", ids);
  const int resolved = x->shape().resolve(axis, "gather");
  if (ids->rank() != x->rank() || ids->shape().with(resolved, 0) != x->shape().with(resolved, 0))
    fail("[gather] ids have shape {} and the tensor {}; only axis {} may differ", ids->shape(), x->shape(),
         axis);
  return apply(gather_op, {x, ids}, {{"axis", std::int64_t{resolved}}});
}

Tensor scatter_add(const Located& y, int axis, const Located& ids, std::int64_t size) {
  detail::need_i32("scatter_add", "ids", ids);
  check_size("scatter_add", "the size of the axis", size);
  const int resolved = y->shape().resolve(axis, "scatter_add");
  if (ids->shape() != y->shape())
    fail("[scatter_add] ids have shape {} and the tensor {}; they must agree", ids->shape(), y->shape());
  return apply(scatter_add_op, {y, ids}, {{"axis", std::int64_t{resolved}}, {"size", size}});
}

Tensor embedding(const Located& table, const Located& ids, const EmbeddingOptions& options) {
  detail::need_float("embedding", table);
  if (table->rank() != 2)
    fail("[embedding] the table must be (rows, width); it has shape {}", table->shape());
  check_padding("embedding", options, table->size(0));
  return apply(embedding_op, {table, ids}, {{"padding", options.padding}});
}

Tensor scatter_rows(const Located& y, const Located& ids, std::int64_t rows,
                    const EmbeddingOptions& options) {
  detail::need_float("scatter_rows", y);
  if (y->rank() == 0 || y->shape().without(-1) != ids->shape())
    fail("[scatter_rows] the rows have shape {} and the ids {}; need (…, width) and (…)", y->shape(),
         ids->shape());
  check_size("scatter_rows", "the number of rows", rows);
  check_padding("scatter_rows", options, rows);
  return apply(scatter_rows_op, {y, ids}, {{"rows", rows}, {"padding", options.padding}});
}

Tensor one_hot(const Located& ids, std::int64_t classes, DType dtype) {
  check_size("one_hot", "the number of classes", classes);
  return apply(one_hot_op, {ids}, {{"classes", classes}, {"dtype", std::string(name_of(dtype))}});
}

}  // namespace pencil
