#include "autograd/inspect/written.hpp"

#include <algorithm>
#include <limits>

namespace pencil::inspect {

bool same_leaf(const Token& a, const Token& b) {
  const bool value = a.value == b.value || (a.value != a.value && b.value != b.value);
  return a.kind == b.kind && a.from == b.from && a.place == b.place && a.dtype == b.dtype && value;
}

namespace {

using Kind = Token::Kind;

Kind kind_of(WorkedKind kind) {
  switch (kind) {
    case WorkedKind::number:
      return Kind::number;
    case WorkedKind::input:
      return Kind::input;
    case WorkedKind::negative:
      return Kind::negative;
    case WorkedKind::sum:
      return Kind::sum;
    case WorkedKind::difference:
      return Kind::difference;
    case WorkedKind::product:
      return Kind::product;
    case WorkedKind::quotient:
      return Kind::quotient;
    case WorkedKind::call:
      return Kind::call;
    case WorkedKind::choice:
      return Kind::choice;
  }
  return Kind::number;
}

bool alike(const Token& a, const Token& b) {
  if (a.kind == Kind::rest || b.kind == Kind::rest) return a.kind == b.kind && a.place == b.place;
  if (a.leaf() && b.leaf()) return true;
  return a.kind == b.kind && a.operands == b.operands && a.held == b.held && a.function == b.function;
}

bool alike(const Line& a, const Line& b) {
  return a.word == b.word && a.places.size() == b.places.size() && a.dtype == b.dtype &&
         std::ranges::equal(a.columns[0], b.columns[0],
                            [](const Token& x, const Token& y) { return alike(x, y); });
}

// The same arithmetic of the same numbers.
bool same(const Line& a, const Line& b) {
  return a.places == b.places && a.recorded == b.recorded && alike(a, b) &&
         std::ranges::equal(a.columns[0], b.columns[0],
                            [](const Token& x, const Token& y) { return !x.leaf() || same_leaf(x, y); });
}

// Terms stand after their operands, so that loops over their places take the part of recursion.
class Writer {
 public:
  Writer(Working& page, const Worksheet& sheet, const LeafOf& leaf_of, const WritingOptions& options)
      : page_(page), sheet_(sheet), leaf_of_(leaf_of), options_(options), about_(sheet.terms().size()) {
    for (const Worksheet::Line& line : sheet.lines()) {
      About& term = about(line.term);
      term.asked = true;
      if (term.role.empty()) term.role = line.role;
    }
  }

  void write(int root) {
    count_uses(root);
    find_visible(root);
    for (int t = 0; t < count(); ++t)
      if (about(t).visible && t != root && (about(t).asked || (about(t).shown > 1 && !light(t))))
        write_line(t, false);
    write_line(root, true);
  }

 private:
  struct About {
    int uses = 0;         // by terms that the result depends on
    bool needed = false;  // the result depends on it
    int shown = 0;        // by terms that are written
    bool visible = false;
    bool asked = false;  // the op wants it on a line of its own
    int line = -1;
    std::string_view role;
  };

  int count() const { return static_cast<int>(about_.size()); }
  About& about(int term) { return about_[static_cast<std::size_t>(term)]; }
  const About& about(int term) const { return about_[static_cast<std::size_t>(term)]; }
  const WorkedTerm& term(int t) const { return sheet_.terms()[static_cast<std::size_t>(t)]; }
  bool is_number(int t) const {
    return term(t).kind == WorkedKind::number || term(t).kind == WorkedKind::input;
  }

  // Not worth a line of its own: a number, its negative, or a choice of such.
  bool light(int t) const {
    while (term(t).kind == WorkedKind::choice || term(t).kind == WorkedKind::negative)
      t = sheet_.operands(term(t))[0];
    return is_number(t);
  }

  void count_uses(int root) {
    about(root).needed = true;
    for (int t = root; t >= 0; --t)
      if (about(t).needed)
        for (const int operand : sheet_.operands(term(t))) {
          about(operand).needed = true;
          ++about(operand).uses;
        }
  }

  // A sum that is part of one other sum needs no parentheses and is written as part of it.
  bool melts(int t) const {
    return term(t).kind == WorkedKind::sum && about(t).uses == 1 && !about(t).asked && term(t).operands > 0;
  }

  // The operands of a term, those of sums in a sum as the sum's own.
  std::vector<int> operands(int t) const {
    const auto own = sheet_.operands(term(t));
    if (term(t).kind != WorkedKind::sum) return {own.begin(), own.end()};
    std::vector<int> all, waiting(own.rbegin(), own.rend());
    while (!waiting.empty()) {
      const int next = waiting.back();
      waiting.pop_back();
      if (!melts(next)) {
        all.push_back(next);
        continue;
      }
      const auto parts = sheet_.operands(term(next));
      waiting.insert(waiting.end(), parts.rbegin(), parts.rend());
    }
    return all;
  }

  // How many of a term's operands are written.
  std::size_t written(int t, std::size_t all) const {
    const bool list = term(t).kind == WorkedKind::sum || term(t).kind == WorkedKind::call;
    return list && all > options_.terms + 1 ? options_.terms : all;
  }

  void find_visible(int root) {
    about(root).visible = true;
    for (const Worksheet::Line& line : sheet_.lines())
      if (!about(line.term).needed) about(line.term).visible = true;
    for (int t = count() - 1; t >= 0; --t) {
      if (!about(t).visible) continue;
      const std::vector<int> all = operands(t);
      for (std::size_t i = 0; i < written(t, all.size()); ++i) {
        about(all[i]).visible = true;
        ++about(all[i]).shown;
      }
    }
  }

  Token token_of(int t) const {
    const WorkedTerm& from = term(t);
    if (from.kind == WorkedKind::input) return leaf_of_(from);
    return {.kind = kind_of(from.kind), .held = from.held, .value = from.value, .function = from.function};
  }

  // What stands for the operands that are not written.
  Token rest_of(int t, const std::vector<int>& all, std::size_t from) const {
    Token rest{.kind = Kind::rest, .place = static_cast<std::int64_t>(all.size() - from)};
    const std::string_view function = rest.function = term(t).function;
    if (function == "max" || function == "min") {
      rest.value = term(all[from]).value;
      for (std::size_t i = from; i < all.size(); ++i) {
        const double x = term(all[i]).value;
        if (function == "max" ? !(x <= rest.value) : !(x >= rest.value)) rest.value = x;
      }
    } else if (term(t).kind == WorkedKind::sum) {
      for (std::size_t i = from; i < all.size(); ++i) rest.value += term(all[i]).value;
    } else {
      rest.value = std::numeric_limits<double>::quiet_NaN();
    }
    return rest;
  }

  void write_line(int root, bool last) {
    struct Open {
      int term;
      std::vector<int> operands;
      std::size_t next = 0;
    };
    std::vector<Token> tokens;
    std::vector<Open> open;
    open.push_back({root, operands(root)});
    while (!open.empty()) {
      Open& top = open.back();
      const std::size_t most = written(top.term, top.operands.size());
      if (top.next < most) {
        const int next = top.operands[top.next++];
        if (const int line = about(next).line; line >= 0)
          tokens.push_back({.kind = Kind::line, .from = line, .value = term(next).value});
        else
          open.push_back({next, operands(next)});
        continue;
      }
      Token token = token_of(top.term);
      if (!token.leaf()) token.operands = static_cast<std::int32_t>(most);
      if (most < top.operands.size()) {
        tokens.push_back(rest_of(top.term, top.operands, most));
        ++token.operands;
      }
      tokens.push_back(token);
      open.pop_back();
    }
    Line line;
    if (const std::string_view role = about(root).role; !role.empty())
      line.word = word_of(role, options_.glossary);
    line.dtype = sheet_.step().dtype();
    line.columns.push_back(std::move(tokens));
    auto found = page_.lines.end();  // another sheet of the page may have written it already
    if (!last)
      found = std::ranges::find_if(page_.lines, [&](const Line& other) { return same(line, other); });
    about(root).line = static_cast<int>(found - page_.lines.begin());
    if (found == page_.lines.end()) page_.lines.push_back(std::move(line));
  }

  Working& page_;
  const Worksheet& sheet_;
  const LeafOf& leaf_of_;
  const WritingOptions& options_;
  std::vector<About> about_;
};

}  // namespace

void write_out(Working& page, const Worksheet& sheet, const Worked& root, const LeafOf& leaf_of,
               const WritingOptions& options) {
  for (const std::string& note : sheet.notes())
    if (std::ranges::find(page.notes, note) == page.notes.end()) page.notes.push_back(note);
  if (root.plain()) {
    Line line{.dtype = sheet.step().dtype()};
    line.columns.push_back({{.dtype = line.dtype, .value = root.value()}});
    page.lines.push_back(std::move(line));
    return;
  }
  Writer(page, sheet, leaf_of, options).write(root.term());
}

std::optional<Working> side_by_side(const std::vector<Working>& numbers) {
  Working page = numbers.front();
  for (const Working& other : numbers) {
    if (other.lines.size() != page.lines.size() || other.notes != page.notes) return std::nullopt;
    for (std::size_t k = 0; k < page.lines.size(); ++k)
      if (!alike(page.lines[k], other.lines[k])) return std::nullopt;
  }
  for (std::size_t k = 0; k < page.lines.size(); ++k) {
    Line& line = page.lines[k];
    bool one = line.recorded.empty() || k + 1 < page.lines.size();
    for (std::size_t c = 1; c < numbers.size(); ++c) {
      const std::vector<Token>& tokens = numbers[c].lines[k].columns[0];
      one = one && numbers[c].lines[k].places == line.places;
      for (std::size_t t = 0; one && t < tokens.size(); ++t)
        if (tokens[t].leaf())
          one = same_leaf(tokens[t], line.columns[0][t]) &&
                (tokens[t].kind != Kind::line ||
                 page.lines[static_cast<std::size_t>(tokens[t].from)].columns.size() == 1);
    }
    if (one) continue;
    for (std::size_t c = 1; c < numbers.size(); ++c) {
      const Line& other = numbers[c].lines[k];
      line.columns.push_back(other.columns[0]);
      line.recorded.insert(line.recorded.end(), other.recorded.begin(), other.recorded.end());
      if (other.places != line.places)
        line.places.insert(line.places.end(), other.places.begin(), other.places.end());
    }
  }
  return page;
}

Working one_by_one(const std::vector<Working>& numbers) {
  Working page;
  for (const Working& number : numbers) {
    std::vector<int> moved;  // where each of its lines came to stand
    for (Line line : number.lines) {
      for (Token& token : line.columns[0])
        if (token.kind == Kind::line) token.from = moved[static_cast<std::size_t>(token.from)];
      const auto found = std::ranges::find_if(page.lines, [&](const Line& x) { return same(line, x); });
      moved.push_back(static_cast<int>(found - page.lines.begin()));
      if (found == page.lines.end()) page.lines.push_back(std::move(line));
    }
    for (const std::string& note : number.notes)
      if (std::ranges::find(page.notes, note) == page.notes.end()) page.notes.push_back(note);
  }
  return page;
}

}  // namespace pencil::inspect
