#include "autograd/inspect/wording.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "autograd/format.hpp"

namespace pencil::inspect {

namespace {

// 3 4 5 6 is written 3…6, and no more than eight of all are written. What is not plainly the number of a step
// writes itself.
template <class Plain, class Number, class WriteOther>
void append_list(std::string& to, int count, Plain plain, Number number, WriteOther write_other) {
  constexpr int most = 8;
  for (int i = 0, written = 0; i < count; ++i, ++written) {
    if (i > 0) to += ' ';
    if (written == most) {
      to += fmt::format("… {} more", count - i);
      return;
    }
    if (!plain(i)) {
      write_other(i);
      continue;
    }
    int last = i;
    while (last + 1 < count && plain(last + 1) && number(last + 1) == number(last) + 1) ++last;
    to += fmt::format_int(number(i)).c_str();
    if (last - i < 3) continue;
    to += fmt::format("…{}", number(last));
    i = last;
  }
}

void append_number_input(std::string& to, const Tensor& x) {
  if (x.size() == 1)
    dispatch(x.dtype(), [&]<class T>(T) { append_number(to, x.values<T>()[0]); });
  else
    to += to_string(x.shape());
}

}  // namespace

void append_name(std::string& to, const Step& step) {
  const std::size_t start = to.size();
  const std::string_view own = step.name(), path = step.path();
  // A leaf's name is its own: the path says only who read it first.
  const bool leaf = step.is_leaf();
  if (!leaf || own.empty()) {
    append_plain(to, path);
    if (!path.empty() && !own.empty()) to += ": ";
  }
  append_plain(to, own);
  const auto space = [&] { to += to.size() == start ? "" : " "; };
  if (step.kind() == StepKind::paused) {
    space();
    append_plain(to, step.op().word());
  }
  if (step.gradient_of() >= 0) {
    space();
    to += fmt::format("(gradient of step {})", step.gradient_of());
  }
}

void append_inputs(std::string& to, const Step& step) {
  append_list(
      to, step.inputs(), [&](int i) { return step.input_step(i) >= 0 && !step.overwritten(i); },
      [&](int i) { return step.input_step(i); },
      [&](int i) {
        if (step.input_step(i) < 0) return append_number_input(to, step.raw_input(i));
        to += fmt::format("{} (version {})", step.input_step(i), step.input_version(i));
      });
}

void append_numbers(std::string& to, const std::vector<int>& numbers) {
  append_list(
      to, static_cast<int>(numbers.size()), [](int) { return true; },
      [&](int i) { return numbers[static_cast<std::size_t>(i)]; }, [](int) {});
}

std::string setting_text(const Attributes::Entry& setting) {
  std::string text = fmt::format("{}=", setting.name);
  const auto append = [&]<class T>(const T& x) {
    if constexpr (std::is_same_v<T, bool>)
      text += x ? "true" : "false";
    else if constexpr (std::is_same_v<T, double>)
      append_number(text, x);
    else if constexpr (std::is_same_v<T, std::string>)
      append_plain(text, x);
    else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
      text += fmt::format("({})", fmt::join(x, ", "));
    else
      text += fmt::format("{}", x);
  };
  std::visit(append, setting.value);
  return text;
}

void append_settings(Cell& to, const Step& step) {
  std::string* line = nullptr;
  for (const Attributes::Entry& entry : step.attributes().entries()) {
    const std::string text = setting_text(entry);
    if (line && width_of(*line) + 1 + width_of(text) <= settings_width)
      *line += ' ';
    else
      line = &to.line();
    *line += text;
  }
}

void append_value(Cell& to, const ValueFact& fact, std::int64_t whole) {
  switch (fact.state) {
    case ValueFact::known:
      return append_values(to, fact.tensor, whole);
    case ValueFact::not_recorded:
      to.line() += "not recorded";
      return;
    case ValueFact::overwritten:
      to.line() += fmt::format("overwritten at {}, version {} → {}", to_string(fact.tensor.written()),
                               fact.version_read, fact.tensor.version());
      return;
    case ValueFact::freed:
      to.line() += "freed";
      return;
    case ValueFact::one_by_one:
      to.line() += "Scalars";
      return;
  }
}

void append_blame(Cell& to, const BlameFact& fact, std::string_view noun, std::int64_t whole) {
  if (fact.state == BlameFact::known) return append_values(to, fact.tensor, whole);
  switch (std::string& text = to.line(); fact.state) {
    case BlameFact::known:
      return;
    case BlameFact::ends_here:
      text += fmt::format("– {} ends here", noun);
      return;
    case BlameFact::of_another_tape:
      text += "– of another tape";
      return;
    case BlameFact::frozen:
      text += "– frozen";
      return;
    case BlameFact::not_wanted:
      text += "–";
      return;
    case BlameFact::not_yet:
      text += fmt::format("no {} yet", noun);
      return;
    case BlameFact::none_came:
      text += "none came";
      return;
    case BlameFact::freed:
      text += "freed";
      return;
    case BlameFact::one_by_one:
      text += "one by one";
      return;
  }
}

std::string noun_for_gradient(Glossary glossary) {
  std::string noun(translated("gradient", glossary));
  std::ranges::transform(noun, noun.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c; });
  return noun;
}

void append_source(std::string& to, const Step& step) {
  const std::string called = to_string(step.called()), inner = to_string(step.where());
  append_plain(to, called);
  if (inner != called && !inner.empty())
    append_plain(to, called.empty() ? inner : fmt::format(" ({})", inner));
}

}  // namespace pencil::inspect
