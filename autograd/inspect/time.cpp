#include "autograd/inspect/time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "autograd/format.hpp"
#include "autograd/inspect/report.hpp"

namespace pencil {

namespace {

void add(TimingRow& row, const Step& step, const std::optional<Work>& work) {
  ++row.calls;
  row.forward += step.forward_time();
  row.backward += std::max<std::int64_t>(0, step.backward_time());
  if (work) row.work = row.work.value_or(0) + work->forward + work->backward;
}

template <class Rows>
void longest_first(Rows& rows, const auto& total) {
  std::ranges::stable_sort(rows, [&](const auto& a, const auto& b) { return total(a) > total(b); });
}

// Nanoseconds in one of four units, with a place after the point.
struct Unit {
  double nanoseconds;
  const char* name;
};

Unit unit_for(std::int64_t longest) {
  for (const Unit unit : {Unit{1, "ns"}, Unit{1e3, "µs"}, Unit{1e6, "ms"}})
    if (static_cast<double>(longest) < 1e4 * unit.nanoseconds) return unit;
  return {1e9, "s"};
}

std::string amount(std::int64_t nanoseconds, const Unit& unit) {
  const double value = static_cast<double>(nanoseconds) / unit.nanoseconds;
  return unit.nanoseconds == 1 ? fmt::format("{:.0f}", value) : fmt::format("{:.1f}", value);
}

}  // namespace

std::optional<double> TimingRow::gigaflops() const {
  if (!work || *work == 0 || total() == 0) return std::nullopt;
  return *work / static_cast<double>(total());
}

std::optional<Work> work_of(const Tape& tape, const Step& step) {
  if (step.kind() != StepKind::op || !step.op().parts().work) return std::nullopt;
  boost::container::small_vector<Shape, 4> inputs;
  Needs needs;
  for (int i = 0; i < step.inputs(); ++i) {
    const int from = step.input_step(i);
    inputs.push_back(from < 0 ? Shape() : tape.step(from).shape());  // a plain number has no step
    const auto bit = static_cast<std::size_t>(i);
    if (from >= 0 && tape.step(from).needs_gradient() && !(bit < 64 && step.op().parts().constant[bit]))
      needs.set(bit);
  }
  const std::span<const Shape> shapes(inputs.data(), inputs.size());
  Work work = step.op().parts().work({shapes, step.shape(), needs}, step.attributes());
  if (!step.reached()) work.backward = 0;
  return work;
}

Timing timing(const Tape& tape, const TimingOptions& options) {
  if (!tape.options().time)
    fail("[timing] this tape did not measure its steps; make it with Tape tape{{{{.time = true}}}}");
  Timing result;
  std::map<std::string_view, std::size_t> modules;  // by path: its place
  std::map<std::pair<std::size_t, std::string>, std::size_t> rows;
  for (int i = 0; i < tape.size(); ++i) {
    const Step step = tape.step(i);
    if (step.forward_time() < 0) continue;
    const std::string_view path = inspect::path_head(step.path(), options.depth);
    const auto [module, new_module] = modules.try_emplace(path, result.modules.size());
    if (new_module) result.modules.push_back({.path = std::string(path), .all = {}, .rows = {}});
    TimingModule& at = result.modules[module->second];

    std::string word(word_of(step, options.glossary));
    if (word != step.word()) word += fmt::format(" ({})", step.word());
    const auto [row, new_row] = rows.try_emplace({module->second, word}, at.rows.size());
    if (new_row) at.rows.push_back({.word = std::move(word)});
    const std::optional<Work> work = work_of(tape, step);
    for (TimingRow* counted : {&result.all, &at.all, &at.rows[row->second]}) add(*counted, step, work);
  }

  const auto set_share = [all = static_cast<double>(result.all.total())](TimingRow& row) {
    row.share = all > 0 ? static_cast<double>(row.total()) / all : 0;
  };
  set_share(result.all);
  for (TimingModule& module : result.modules) {
    set_share(module.all);
    std::ranges::for_each(module.rows, set_share);
    longest_first(module.rows, [](const TimingRow& row) { return row.total(); });
  }
  longest_first(result.modules, [](const TimingModule& module) { return module.all.total(); });
  return result;
}

std::string to_string(const Timing& timing) {
  const Unit unit = unit_for(timing.all.total());
  std::vector<std::vector<std::string>> rows{{"module", "word", "calls", fmt::format("forward {}", unit.name),
                                              fmt::format("backward {}", unit.name), "share", "GFLOP/s"}};
  const auto append = [&](std::string_view module, std::string_view word, const TimingRow& row) {
    const std::optional<double> rate = row.gigaflops();
    rows.push_back({std::string(module), std::string(word), fmt::format("{}", row.calls),
                    amount(row.forward, unit), amount(row.backward, unit),
                    fmt::format("{:.1f} %", 100 * row.share), rate ? number_text(*rate) : "–"});
  };
  for (const TimingModule& module : timing.modules) {
    const std::string_view path = module.path.empty() ? std::string_view("–") : module.path;
    if (module.rows.size() == 1) {
      append(path, module.rows[0].word, module.rows[0]);
      continue;
    }
    append(path, "", module.all);
    for (const TimingRow& row : module.rows) append("", row.word, row);
  }
  append("all", "", timing.all);
  using enum inspect::Side;
  return inspect::table_text({left, left, right, right, right, right, right}, rows) +
         "GFLOP/s: 10⁹ operations a second, a multiplication and an addition being two; – where an op does "
         "not say its work.\n";
}

}  // namespace pencil
