#include <algorithm>
#include <string>
#include <string_view>

#include "autograd/inspect/cells.hpp"
#include "autograd/inspect/glossary.hpp"
#include "examples/imdb/commands.hpp"

namespace pencil::imdb {
namespace {

std::string padded(std::string_view text, std::size_t width) {
  std::string cell(text);
  cell.append(width - std::min(width, inspect::width_of(text)) + 2, ' ');
  return cell;
}

}  // namespace

int glossary(const GlossaryOptions& options, Console& console) {
  const auto shown = [](std::string_view word) { return word.empty() ? std::string_view("–") : word; };
  std::size_t textbook = 8, pencil = 6, sketchbook = 10;
  for (const Term& term : glossary_terms()) {
    textbook = std::max(textbook, inspect::width_of(term.textbook));
    pencil = std::max(pencil, inspect::width_of(term.pencil));
    sketchbook = std::max(sketchbook, inspect::width_of(term.sketchbook));
  }
  const auto line = [&](std::string_view a, std::string_view b, std::string_view c, std::string_view d) {
    std::string text = padded(a, textbook) + padded(b, pencil) + padded(c, sketchbook) + std::string(d);
    text.erase(text.find_last_not_of(' ') + 1);
    console.out << text << '\n';
  };
  if (!options.quiet) line("textbook", "pencil", "sketchbook", "");
  for (const Term& term : glossary_terms())
    line(term.textbook, shown(term.pencil), shown(term.sketchbook), term.comment);
  if (!options.quiet) console.out << "–: no word of its own; the textbook's is printed.\n";
  return 0;
}

}  // namespace pencil::imdb
