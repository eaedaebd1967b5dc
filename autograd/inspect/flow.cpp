#include "autograd/inspect/flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "autograd/format.hpp"
#include "autograd/inspect/report.hpp"

namespace pencil {

namespace {

// What there is to say of a gradient's numbers, of one tensor or of several together.
struct Numbers {
  std::int64_t count = 0, zeros = 0;
  double largest = 0;  // NaN if one is
  double norm = 0;     // of one tensor

  void add(const Numbers& other) {
    count += other.count;
    zeros += other.zeros;
    largest = largest >= other.largest || std::isnan(largest) ? largest : other.largest;
  }
};

Numbers numbers_of(const Tensor& x) {
  return dispatch_float(x.dtype(), [&]<class T>(T) {
    Numbers numbers{.count = x.size()};
    double squares = 0;
    for (const T value : x.values<T>()) {
      const double size = std::abs(static_cast<double>(value));
      numbers.zeros += size == 0;
      numbers.largest = numbers.largest >= size || std::isnan(numbers.largest) ? numbers.largest : size;
      squares += size * size;
    }
    if (std::isnormal(squares) || numbers.largest == 0 || !std::isfinite(numbers.largest)) {
      numbers.norm = std::isfinite(numbers.largest) ? std::sqrt(squares) : numbers.largest;
      return numbers;
    }
    squares = 0;  // too large or too small to be squared as they are
    for (const T value : x.values<T>()) {
      const double part = static_cast<double>(value) / numbers.largest;
      squares += part * part;
    }
    numbers.norm = numbers.largest * std::sqrt(squares);
    return numbers;
  });
}

// A parameter's gradient, or what is left of it.
struct Found {
  std::optional<Numbers> numbers = {};  // where it is still there
  std::optional<double> norm = {};      // where anything came
  const ParameterUpdate* update = nullptr;
};

Found find(const Tensor& parameter, const Tensor& blame, const ParameterUpdate* update) {
  Found found{.update = update};
  if (blame.defined())
    found.numbers = numbers_of(blame);
  else if (parameter.has_grad())
    found.numbers = numbers_of(parameter.grad());
  if (found.numbers)
    found.norm = found.numbers->norm;
  else if (update)
    found.norm = update->gradient_norm;
  return found;
}

// Several gradients as one.
struct Sum {
  std::string_view name;
  std::int64_t count = 0;
  Numbers numbers = {};
  bool all_known = true;  // the numbers of every gradient that came
  bool any = false;
  double norm = 0, update = 0, weight = 0;

  void add(std::int64_t size, const Found& found) {
    count += size;
    if (found.numbers) numbers.add(*found.numbers);
    if (found.norm) {
      any = true;
      all_known = all_known && found.numbers;
      norm = std::hypot(norm, *found.norm);
    }
    if (found.update) {
      update = std::hypot(update, found.update->update_norm);
      weight = std::hypot(weight, found.update->weight_norm);
    }
  }
};

FlowMark mark_of(const std::optional<double>& size, FlowMark without, const FlowOptions& options) {
  if (!size) return without;
  if (!std::isfinite(*size)) return FlowMark::not_finite;
  return *size < options.vanishing   ? FlowMark::vanishing
         : *size > options.exploding ? FlowMark::exploding
                                     : FlowMark::fine;
}

FlowRow row_of(const Sum& sum, const FlowOptions& options) {
  FlowRow row{.name = std::string(sum.name), .numbers = sum.count};
  if (sum.any) row.norm = sum.norm;
  if (sum.any && sum.all_known && sum.numbers.count > 0) {
    row.zeros = static_cast<double>(sum.numbers.zeros) / static_cast<double>(sum.numbers.count);
    row.largest = sum.numbers.largest;
  }
  if (sum.weight > 0) row.ratio = sum.update / sum.weight;
  row.gradient = mark_of(row.norm, FlowMark::none_came, options);
  row.update = mark_of(row.ratio, FlowMark::fine, options);
  return row;
}

// The module that a parameter is named after: "attend.query" of "attend.query.weight".
std::string_view module_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

}  // namespace

std::string_view name_of(FlowMark mark) {
  switch (mark) {
    case FlowMark::none_came:
      return "none came";
    case FlowMark::vanishing:
      return "vanishing";
    case FlowMark::exploding:
      return "exploding";
    case FlowMark::not_finite:
      return "not finite";
    case FlowMark::fine:
      break;
  }
  return "";
}

Flow flow(const Tape& tape, std::span<const ParameterUpdate> report, const FlowOptions& options) {
  if (tape.backward_from() < 0) fail("[flow] backward has not run on this tape; no gradient has flowed yet");
  if (!(options.vanishing <= options.exploding))
    fail("[flow] vanishing is below {} and exploding above {}; need two numbers, the first no larger",
         options.vanishing, options.exploding);
  std::unordered_map<const detail::Body*, const ParameterUpdate*> updates;
  for (const ParameterUpdate& update : report)
    if (update.parameter.defined()) updates.emplace(detail::Body::of(update.parameter), &update);

  Flow flow{.glossary = options.glossary, .parameters = {}, .modules = {}};
  std::vector<Sum> modules;
  std::unordered_map<std::string_view, std::size_t> places;
  const auto add = [&](std::string_view name, std::string_view path, const Tensor& parameter,
                       const Found& found) {
    Sum one{.name = name};
    one.add(parameter.size(), found);
    flow.parameters.push_back(row_of(one, options));
    path = inspect::path_head(path, options.depth);
    const auto [place, is_new] = places.try_emplace(path, modules.size());
    if (is_new) modules.push_back({.name = path});
    modules[place->second].add(parameter.size(), found);
  };
  for (int i = 0; i < tape.size(); ++i) {
    const Step step = tape.step(i);
    if (step.kind() != StepKind::parameter) continue;
    const Tensor& parameter = step.raw_output();
    const auto update = updates.find(detail::Body::of(parameter));
    const Found found = find(parameter, step.gradient(), update == updates.end() ? nullptr : update->second);
    if (update != updates.end()) updates.erase(update);
    const std::string_view name = step.name();
    add(name.empty() ? std::string_view("–") : name, name.empty() ? step.path() : module_of(name), parameter,
        found);
  }
  for (const ParameterUpdate& update : report)  // what this tape never read
    if (update.parameter.defined() && updates.contains(detail::Body::of(update.parameter)))
      add(update.name, module_of(update.name), update.parameter, find(update.parameter, {}, &update));
  for (const Sum& module : modules) flow.modules.push_back(row_of(module, options));
  return flow;
}

std::string to_string(const Flow& flow) {
  const std::string noun(translated("gradient", flow.glossary));
  const auto known = [](const std::optional<double>& x) { return x ? number_text(*x) : std::string("–"); };
  const auto marks = [&](const FlowRow& row) {
    std::string text(name_of(row.gradient));
    if (row.update == FlowMark::fine) return text;
    return fmt::format("{}{}update {}", text, text.empty() ? "" : ", ", name_of(row.update));
  };
  using enum inspect::Side;
  const auto table = [&](const char* title, const std::vector<FlowRow>& rows) {
    std::vector<std::vector<std::string>> cells{
        {title, "numbers", noun + " norm", "zeros", "largest", "update/weight", ""}};
    for (const FlowRow& row : rows)
      cells.push_back({row.name.empty() ? "–" : row.name, fmt::format("{}", row.numbers), known(row.norm),
                       row.zeros ? fmt::format("{:.1f} %", 100 * *row.zeros) : "–", known(row.largest),
                       known(row.ratio), marks(row)});
    return inspect::table_text({left, right, right, right, right, right, left}, cells);
  };
  return table("parameter", flow.parameters) + "\n" + table("module", flow.modules);
}

}  // namespace pencil
