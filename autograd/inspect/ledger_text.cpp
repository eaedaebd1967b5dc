#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/format.hpp"
#include "autograd/inspect/ledger.hpp"
#include "autograd/inspect/table.hpp"

namespace pencil {

namespace {

enum Column { contribution, way, local, blame, step, word, name, number, columns };

class Printer {
 public:
  explicit Printer(const Ledger& ledger)
      : ledger_(ledger), gradient_(translated("gradient", ledger.glossary)), table_(layout(), 0) {
    any_followed_ = std::ranges::any_of(ledger.lines, &Ledger::Line::followed);
  }

  std::string text() {
    std::string text = fmt::format("{} of step {} ", gradient_, ledger_.step);
    append_called(text, ledger_.word, ledger_.name, ledger_.index);
    text += fmt::format(": {}\n", number_text(ledger_.gradient));
    const std::vector<int> order = depth_first();
    for_each_row(order, [&] { table_.measure(); });
    for_each_row(order, [&] { table_.append_row(text); });
    for (const Ledger::Unasked& each : ledger_.unasked)
      text += fmt::format("in the rest, all that step {} passed on from its input {}: {}\n", each.step,
                          each.input, each.why);
    return text;
  }

 private:
  static std::vector<inspect::Table::Column> layout() {
    constexpr std::size_t any = 1000;
    std::vector<inspect::Table::Column> layout(columns, {.limit = any});
    for (const Column right : {contribution, way, local, blame, step}) layout[right].right = true;
    return layout;
  }

  static void append_called(std::string& to, const std::string& word, const std::string& name,
                            const std::string& index) {
    inspect::append_plain(to, word);
    if (!name.empty()) to += ' ';
    inspect::append_plain(to, name);
    to += ' ' + index;
  }

  // Each line before the ones that explain it, the largest contributions first.
  std::vector<int> depth_first() {
    const std::size_t count = ledger_.lines.size();
    std::vector<std::vector<int>> below(count + 1);
    for (std::size_t i = 0; i < count; ++i)
      below[static_cast<std::size_t>(ledger_.lines[i].parent + 1)].push_back(static_cast<int>(i));
    const auto rank = [&](int line) {
      const double amount = std::abs(ledger_.lines[static_cast<std::size_t>(line)].contribution());
      return std::isnan(amount) ? -std::numeric_limits<double>::infinity() : -amount;
    };
    for (std::vector<int>& lines : below) std::ranges::stable_sort(lines, {}, rank);
    depths_.assign(count, 0);
    std::vector<int> order, stack(below[0].rbegin(), below[0].rend());
    while (!stack.empty()) {
      const int line = stack.back();
      stack.pop_back();
      order.push_back(line);
      const auto& next = below[static_cast<std::size_t>(line) + 1];
      for (const int child : next)
        depths_[static_cast<std::size_t>(child)] = depths_[static_cast<std::size_t>(line)] + 1;
      stack.insert(stack.end(), next.rbegin(), next.rend());
    }
    return order;
  }

  template <class F>
  void for_each_row(const std::vector<int>& order, F&& row) {
    table_.clear();
    table_[contribution].line() += "contributes";
    if (any_followed_) table_[way].line() += "so far";
    table_[local].line() += "local";
    table_[blame].line() += gradient_;
    table_[step].line() += "#";
    table_[word].line() += "read by";
    table_[name].line() += "name";
    table_[number].line() += "number";
    row();
    for (const int line : order) {
      fill(ledger_.lines[static_cast<std::size_t>(line)], depths_[static_cast<std::size_t>(line)]);
      row();
    }
    if (ledger_.given != 0) total(ledger_.given, "given to backward", row);
    total(ledger_.rest, ledger_.complete ? "rounding" : "rest", row);
    total(ledger_.gradient, "in all", row);
  }

  void fill(const Ledger::Line& line, int depth) {
    table_.clear();
    std::string& first = table_[contribution].line();
    if (line.followed)
      first += "see below";
    else
      append_number(first, line.contribution());
    if (any_followed_ && line.parent >= 0) append_number(table_[way].line(), line.way);
    append_number(table_[local].line(), line.local);
    append_number(table_[blame].line(), line.blame);
    table_[step].line() += fmt::format("{}", line.step);
    std::string& called = table_[word].line();
    called.append(2 * static_cast<std::size_t>(std::min(depth, 20)), ' ');
    inspect::append_plain(called, line.word);
    inspect::append_plain(table_[name].line(), line.name);
    table_[number].line() += line.index;
  }

  template <class F>
  void total(double amount, const char* what, F&& row) {
    table_.clear();
    append_number(table_[contribution].line(), amount);
    table_[word].line() += what;
    row();
  }

  const Ledger& ledger_;
  std::string_view gradient_;
  inspect::Table table_;
  bool any_followed_ = false;
  std::vector<int> depths_;
};

}  // namespace

std::string to_string(const Ledger& ledger) { return Printer(ledger).text(); }

}  // namespace pencil
