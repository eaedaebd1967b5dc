// The arithmetic of ops in particular: what stands on lines of its own, what is left out, what is remarked.

#include <functional>

#include "autograd/arithmetic.hpp"
#include "autograd/ops/attention.hpp"
#include "autograd/ops/compare.hpp"
#include "autograd/ops/dropout.hpp"
#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/index.hpp"
#include "autograd/ops/loss.hpp"
#include "autograd/ops/matmul.hpp"
#include "autograd/ops/pool.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/softmax.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

using Strings = std::vector<std::string>;

// The arithmetic of one number, written out in full: "2·3 + 0·1"; a term with a line of its own by its value.
struct Said {
  Strings lines;  // "total = 2 + 3 = 5"
  Strings notes;
  std::string arithmetic;
  double value = 0;
};

class Writer {
 public:
  explicit Writer(const Worksheet& sheet) : sheet_(sheet) {}

  std::string term(int number, bool whole = false) const {
    const WorkedTerm& t = sheet_.terms()[static_cast<std::size_t>(number)];
    if (!whole && (t.kind == WorkedKind::number || t.kind == WorkedKind::input || has_line(number)))
      return fmt::format("{:.4g}", t.value);
    std::vector<std::string> parts;
    for (const std::int32_t operand : sheet_.operands(t))
      parts.push_back(t.kind == WorkedKind::call ? term(operand) : part(operand));
    switch (t.kind) {
      case WorkedKind::sum:
        return joined(parts, " + ");
      case WorkedKind::difference:
        return joined(parts, " - ");
      case WorkedKind::product:
        return joined(parts, "*");
      case WorkedKind::quotient:
        return joined(parts, " / ");
      case WorkedKind::negative:
        return "-" + parts[0];
      case WorkedKind::choice:
        return fmt::format("{} as {} {} {} is {}", parts[0], parts[1], t.function, parts[2], t.held);
      case WorkedKind::call:
        return fmt::format("{}({})", t.function, joined(parts, ", "));
      default:
        return fmt::format("{:.4g}", t.value);
    }
  }

 private:
  bool has_line(int number) const {
    for (const Worksheet::Line& line : sheet_.lines())
      if (line.term == number) return true;
    return false;
  }
  std::string part(int number) const {
    const WorkedTerm& t = sheet_.terms()[static_cast<std::size_t>(number)];
    const bool in_brackets =
        !has_line(number) && (t.kind == WorkedKind::sum || t.kind == WorkedKind::difference);
    return in_brackets ? "(" + term(number) + ")" : term(number);
  }
  static std::string joined(const std::vector<std::string>& parts, const char* between) {
    std::string text;
    for (const std::string& each : parts) text += (text.empty() ? "" : between) + each;
    return text;
  }
  const Worksheet& sheet_;
};

Said said(const Step& step, std::int64_t element) {
  Worksheet sheet(step);
  const Worked y = step.op().parts().explain(sheet, element);
  const Writer writer(sheet);
  Said result;
  for (const Worksheet::Line& line : sheet.lines())
    result.lines.push_back(fmt::format("{} = {} = {:.4g}", line.role, writer.term(line.term, true),
                                       sheet.terms()[static_cast<std::size_t>(line.term)].value));
  result.notes = sheet.notes();
  result.arithmetic = y.plain() ? fmt::format("{:.4g}", y.value()) : writer.term(y.term(), true);
  result.value = y.value();
  return result;
}

bool alike(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// What the last op of f says of one number of its output.
Said said_by(const std::function<Tensor()>& f, std::int64_t element = 0) {
  Tape tape;
  const Tensor y = f();
  return said(tape.step(tape.step_of(y)), element);
}

}  // namespace

TEST_CASE("a product says one sum of products, and the bias behind it") {
  const Tensor x = tensor({{2, 0, 1, 0}}, f64), w = tensor({{3, 0, 2, 0}, {1, 0, 0, 0}}, f64);
  CHECK(said_by([&] { return matmul(x, w, {.transpose_right = true}); }).arithmetic ==
        "2*3 + 0*0 + 1*2 + 0*0");
  CHECK(said_by(
            [&] {
              return linear(x, w, tensor({5, 7}, f64));
            },
            1)
            .arithmetic == "(2*1 + 0*0 + 1*0 + 0*0) + 7");
}

TEST_CASE("softmax is written as the document writes it") {
  const Said each = said_by([] { return softmax(tensor({1, 4}, f64)); }, 1);
  CHECK(each.lines ==
        Strings{"blow_up = exp(1) = 2.718", "blow_up = exp(4) = 54.6", "total = 2.718 + 54.6 = 57.32"});
  CHECK(each.arithmetic == "54.6 / 57.32");
  CHECK(each.notes == Strings{"computed as e^(x − 4)"});
}

TEST_CASE("where e^x is beyond the dtype, softmax is written with the largest taken off") {
  const Tensor large = tensor({100, 101}, f64);
  CHECK(said_by([&] { return softmax(large); }).arithmetic == "2.688e+43 / 9.995e+43");
  const Said narrow = said_by([&] { return softmax(large.to(f32)); });
  CHECK(narrow.lines == Strings{"largest = 101 = 101", "blow_up = exp(100 - 101) = 0.3679",
                                "blow_up = exp(101 - 101) = 1", "total = 0.3679 + 1 = 1.368"});
  CHECK(narrow.notes.empty());
  // a total that the dtype has no digits left for
  CHECK(said_by([] { return softmax(tensor({-1000, -1000}, f64)); }).arithmetic == "1 / 2");
}

TEST_CASE("numbers that are not finite say what they come to") {
  for (const Numbers& row :
       {Numbers{1, infinity}, {no_number, 1}, {-infinity, 1}, {-infinity, -infinity}, {infinity, infinity}}) {
    const Tensor x = stack({full({}, row[0], f64), full({}, row[1], f64)});
    for (const std::int64_t element : {0, 1}) {
      INFO(row[0] << " " << row[1] << ", element " << element);
      for (const auto& f :
           {+[](const Tensor& t) { return softmax(t); }, +[](const Tensor& t) { return log_softmax(t); },
            +[](const Tensor& t) {
              return masked_softmax(t, tensor({1, 1}, i32));
            }}) {
        const double value = numbers(f(x))[static_cast<std::size_t>(element)];
        const double worked = said_by([&] { return f(x); }, element).value;
        CHECK(alike(worked, value));
      }
    }
    const auto key = [&] { return attention_weights(ones({1, 1}, f64), reshape(x, {2, 1}), {.scale = 1}); };
    for (const std::int64_t element : {0, 1})
      CHECK(alike(said_by(key, element).value, numbers(key())[static_cast<std::size_t>(element)]));
    for (const auto& f : {+[](const Tensor& t) { return logsumexp(t, 0); },
                          +[](const Tensor& t) { return max(t); }, +[](const Tensor& t) { return min(t); }}) {
      const double value = f(x).item(), worked = said_by([&] { return f(x); }).value;
      CHECK(alike(worked, value));
    }
  }
}

TEST_CASE("what a mask hides is left out and counted") {
  const Tensor x = tensor({1, 9, 4}, f64), mask = tensor({1, 0, 1}, i32);
  const Said seen = said_by([&] { return masked_softmax(x, mask); });
  CHECK(seen.lines.back() == "total = 2.718 + 54.6 = 57.32");
  CHECK(seen.notes == Strings{"1 of 3 hidden by the mask", "computed as e^(x − 4)"});
  const Said hidden = said_by([&] { return masked_softmax(x, mask); }, 1);
  CHECK(hidden.arithmetic == "0");
  CHECK(hidden.notes == Strings{"1 of 3 hidden by the mask", "0: hidden by the mask"});

  const Tensor sheet = tensor({{{1, 2}, {3, 4}, {7, 8}}}, f64), words = tensor({{1, 0, 1}}, i32);
  CHECK(said_by([&] { return mean_pool(sheet, words); }, 1).arithmetic == "(2 + 8) / 2");
  CHECK(said_by([&] { return max_pool(sheet, words); }).arithmetic == "max(1, 7)");
  const Said none = said_by([&] { return mean_pool(sheet, zeros({1, 3}, i32)); });
  CHECK(none.value == 0);
  CHECK(none.notes == Strings{"3 of 3 hidden by the mask", "the mean of nothing is 0"});
}

TEST_CASE("attention says scores, scale, softmax and mix in turn") {
  const Tensor q = tensor({{2, 0, 1, 0}}, f64), k = tensor({{1, 0, 0, 0}, {3, 0, 2, 0}}, f64);
  const Tensor v = tensor({{2, 0, 0, 1}, {0, 3, 1, 0}}, f64);
  const Said first = said_by([&] { return attention(q, k, v, {.heads = 1}); });
  CHECK(first.lines == Strings{"scores = 2*1 + 0*0 + 1*0 + 0*0 = 2", "scores = 2*3 + 0*0 + 1*2 + 0*0 = 8",
                               "scale = 2 / 2 = 1", "scale = 8 / 2 = 4", "blow_up = exp(1) = 2.718",
                               "blow_up = exp(4) = 54.6", "total = 2.718 + 54.6 = 57.32",
                               "weights = 2.718 / 57.32 = 0.04743", "weights = 54.6 / 57.32 = 0.9526"});
  CHECK(first.arithmetic == "0.04743*2 + 0.9526*0");
  const Said weight = said_by([&] { return attention_weights(q, k, {.scale = 1}); });
  CHECK(weight.lines == Strings{"scores = 2*1 + 0*0 + 1*0 + 0*0 = 2", "scores = 2*3 + 0*0 + 1*2 + 0*0 = 8",
                                "blow_up = exp(2) = 7.389", "blow_up = exp(8) = 2981",
                                "total = 7.389 + 2981 = 2988"});
  CHECK(weight.arithmetic == "7.389 / 2988");
}

TEST_CASE("reductions say what goes into a number") {
  const Tensor x = tensor({{1, 2}, {3, 6}}, f64);
  CHECK(said_by([&] { return sum(x, 0); }, 1).arithmetic == "2 + 6");
  CHECK(said_by([&] { return mean(x, 1); }, 1).arithmetic == "(3 + 6) / 2");
  CHECK(said_by([&] { return max(x); }).arithmetic == "max(1, 2, 3, 6)");
  CHECK(said_by([&] { return min(x, 0); }).arithmetic == "min(1, 3)");
  CHECK(said_by([&] { return norm(x, 0); }).arithmetic == "sqrt(pow(1, 2) + pow(3, 2))");
  CHECK(said_by([&] { return cumsum(x, 0); }, 3).arithmetic == "2 + 6");
  CHECK(said_by([&] { return argmax(x, 1); }).arithmetic == "argmax(1, 2)");
  const Said spread = said_by([&] { return stddev(x, 1); }, 1);
  CHECK(spread.lines ==
        Strings{"mean = (3 + 6) / 2 = 4.5", "variance = pow(3 - 4.5, 2) + pow(6 - 4.5, 2) = 4.5"});
  CHECK(spread.arithmetic == "sqrt(4.5)");
  CHECK(said_by([] { return sum(zeros({0}, f64)); }).value == 0);
  CHECK(said_by([] { return mean(zeros({0}, f64)); }).notes == Strings{"the mean of nothing is 0"});
  CHECK(said_by([] { return logsumexp(zeros({2, 0}, f64), 1); }).value == -infinity);
  CHECK(said_by([] { return sum(tensor(3, f64)); }).value == 3);
}

TEST_CASE("losses say the chance given to the label") {
  const Said one = said_by([] {
    return binary_cross_entropy_with_logits(tensor({2, -1}, f64), tensor({1, 0}, i32));
  });
  CHECK(one.lines == Strings{"chance of the label = 1 / (1 + exp(-2)) = 0.8808",
                             "chance of the label = 1 / (1 + exp(-1)) = 0.7311"});
  CHECK(one.arithmetic == "(-log(0.8808) + -log(0.7311)) / 2");
  CHECK(said_by([] {
          return binary_cross_entropy_with_logits(tensor({-800}, f64), tensor({1}, i32));
        }).value == 800);
  const Said clipped = said_by([] {
    return binary_cross_entropy(tensor({0, 0.25}, f64), tensor({1, 0}, i32));
  });
  CHECK(clipped.lines ==
        Strings{"chance of the label = max(0, 1e-07) = 1e-07", "chance of the label = 1 - 0.25 = 0.75"});
  CHECK(said_by([] {
          return mse(tensor({3, 1}, f64), tensor({1, 1}, f64));
        }).arithmetic == "(pow(3 - 1, 2) + pow(1 - 1, 2)) / 2");
  const Said scores = said_by([] { return cross_entropy(random({64, 3}, 1), zeros({64}, i32)); });
  CHECK(scores.lines.size() == 64);  // a total each
}

TEST_CASE("ops that copy say the number they copy, and which") {
  const Tensor table = tensor({{1, 2}, {3, 4}, {5, 6}}, f64), ids = tensor({2, 0, 2}, i32);
  const Said row = said_by([&] { return embedding(table, ids); }, 1);
  CHECK(row.arithmetic == "6");
  CHECK(row.notes == Strings{"row 2 of the table"});
  CHECK(said_by([&] {
          return gather(table, 0, tensor({{1, 0}}, i32));
        }).notes == Strings{"number 1 along axis 0"});
  const Said added = said_by([&] { return scatter_rows(table, ids, 4); }, 4);
  CHECK(added.arithmetic == "1 + 5");
  CHECK(added.notes == Strings{"2 of 3 ids are 2"});
  CHECK(said_by([&] { return scatter_rows(table, ids, 4, {.padding = 2}); }, 4).notes ==
        Strings{"0: the padding row"});
  CHECK(said_by([&] { return unslice(table, 0, 5, 1); }).notes == Strings{"0: outside the slice"});
  CHECK(said_by([] { return tensor({0.1}, f64).to(f32); }).arithmetic == "0.1");
  CHECK(said_by([] { return tensor({-2.5}, f64).to(i32); }).arithmetic == "trunc(-2.5)");
}

TEST_CASE("choices say what they were made by") {
  const Tensor x = tensor({1, 4}, f64);
  CHECK(said_by([&] { return less(x, 2); }).arithmetic == "1 as 1 < 2 is true");
  CHECK(said_by([&] { return less(x, 2); }, 1).arithmetic == "0 as 4 < 2 is false");
  CHECK(said_by([&] { return where(tensor({1, 0}, i32), x, 7); }, 1).arithmetic == "7 as 0 != 0 is false");
  CHECK(said_by([&] {
          return masked_fill(x, tensor({1, 0}, i32), -3);
        }).arithmetic == "-3 as 1 != 0 is true");
  CHECK(said_by([] { return one_hot(tensor({2}, i32), 3); }, 2).arithmetic == "1 as 2 == 2 is true");
}

TEST_CASE("dropout says what it kept and what it dropped") {
  const Tensor x = full({40}, 3, f64);
  const Tensor y = dropout(x, 0.25, 5);
  int dropped = 0;
  for (std::int64_t i = 0; i < 40; ++i) {
    const Said each = said_by([&] { return dropout(x, 0.25, 5); }, i);
    const bool kept = numbers(y)[static_cast<std::size_t>(i)] != 0;
    dropped += !kept;
    CHECK(each.arithmetic == (kept ? "3 / 0.75" : "0"));
    CHECK(each.notes == Strings{kept ? "kept, and divided by 1 − rate" : "0: dropped"});
  }
  CHECK(dropped > 0);
  CHECK(dropped < 40);
}

TEST_CASE("layer_norm says mean and variance on lines of their own") {
  const Said each = said_by(
      [] {
        return layer_norm(tensor({1, 3}, f64), tensor({2, 2}, f64), tensor({5, 5}, f64), 0.);
      },
      1);
  CHECK(each.lines ==
        Strings{"mean = (1 + 3) / 2 = 2", "variance = (pow(1 - 2, 2) + pow(3 - 2, 2)) / 2 = 1"});
  CHECK(each.arithmetic == "(3 - 2) / sqrt(1)*2 + 5");
}
