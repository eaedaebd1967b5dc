#include "autograd/inspect/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "autograd/inspect/markup.hpp"
#include "autograd/inspect/nested.hpp"
#include "autograd/inspect/picture.hpp"

namespace pencil {

namespace {

using inspect::append_xml;
using inspect::Item;
using inspect::Label;
using inspect::Nested;
using inspect::Node;
using inspect::Picture;
using inspect::Point;

constexpr int line_height = 16, node_padding = 10, margin = 16;

constexpr std::string_view style = R"(<style>
svg { background: #fbfbf9; font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
text { fill: #1f2933; text-anchor: middle; }
.name, .shape { font-size: 12px; }
.shape { fill: #66727e; }
.word { font-weight: 600; }
.title { text-anchor: start; font-size: 12px; fill: #66727e; stroke: #f4f5f4; stroke-width: 4px; paint-order: stroke; }
.box { fill: #34526b; fill-opacity: .05; stroke: #b6c2ce; }
.op { fill: #ffffff; stroke: #5a6b7b; }
.parameter { fill: #fdf0d5; stroke: #b98a2f; }
.constant { fill: #eef1f4; stroke: #8a949e; }
.mark { fill: #ffffff; stroke: #5a6b7b; stroke-dasharray: 4 3; }
.module { fill: #e3ecf7; stroke: #5577a0; stroke-width: 1.5; }
.arrow, .line { fill: none; stroke: #7b8896; stroke-width: 1.2; }
.arrow { marker-end: url(#head); }
#head path { fill: #7b8896; }
@media (prefers-color-scheme: dark) {
  svg { background: #16191d; }
  text { fill: #e4e7eb; }
  .shape, .title { fill: #9aa5b1; }
  .title { stroke: #1b1f24; }
  .box { fill: #9fb3c8; fill-opacity: .06; stroke: #3e4c59; }
  .op, .mark { fill: #22272e; stroke: #8795a1; }
  .parameter { fill: #3a2f17; stroke: #c79a3f; }
  .constant { fill: #2a3038; stroke: #7b8794; }
  .module { fill: #1f2f45; stroke: #6b8fbf; }
}
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>
)";

// About how wide a text is drawn, in whole pixels: no font is at hand to ask.
int width_of(std::string_view text, int size) {
  int percent = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 && byte < 0xc0) continue;  // the rest of a character
    const bool narrow = std::string_view(" .,:;'|()[]iljtfI").find(c) != std::string_view::npos;
    percent += byte >= 0xe1 ? 105 : narrow ? 38 : (c >= 'A' && c <= 'Z') || c == 'm' || c == 'w' ? 76 : 60;
  }
  return percent * size / 100 + 1;
}

class Drawing {
 public:
  Drawing(const Picture& picture, Glossary glossary)
      : picture_(picture), labels_(labels_of(picture, glossary)), nested_(nested_of(picture, labels_)) {}

  std::string text() const {
    std::string text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"{2} {2} {0:.0f} {1:.0f}\">\n",
        nested_.size().x + 2 * margin, nested_.size().y + 2 * margin, -margin);
    text += style;
    const int calls = static_cast<int>(picture_.outline().calls().size());
    for (int c = 0; c < calls; ++c)
      if (picture_.is_box(c)) append_box(text, c);
    append_arrows(text);
    for (std::size_t i = 0; i < labels_.size(); ++i) append_node(text, i);
    for (int c = 0; c < calls; ++c)
      if (picture_.is_box(c)) append_title(text, c);
    return text + "</svg>\n";
  }

 private:
  static std::vector<Label> labels_of(const Picture& picture, Glossary glossary) {
    std::vector<Label> labels;
    for (const Node& node : picture.nodes()) labels.push_back(picture.label(node, glossary));
    return labels;
  }

  static Nested nested_of(const Picture& picture, const std::vector<Label>& labels) {
    std::vector<Item> sizes;
    for (const Label& label : labels) {
      const int width =
          std::max({40, width_of(label.word, 14), width_of(label.name, 12), width_of(label.shape, 12)});
      const int height = line_height * (label.name.empty() ? 2 : 3) + node_padding;
      sizes.push_back({2.0 * (width / 2 + node_padding), static_cast<double>(height)});
    }
    std::vector<double> titles;
    for (std::size_t c = 0; c < picture.outline().calls().size(); ++c)
      titles.push_back(width_of(picture.title(static_cast<int>(c)), 12));
    return Nested(picture, sizes, titles);
  }

  static void append_rectangle(std::string& text, const Item& item, std::string_view kind) {
    text += fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"7\"/>", kind,
        item.x - item.width / 2, item.y - item.height / 2, item.width, item.height);
  }

  static void append_text(std::string& text, Point at, std::string_view kind, std::string_view line) {
    text += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">", kind, at.x, at.y);
    append_xml(text, line);
    text += "</text>";
  }

  void append_box(std::string& text, int c) const {
    text += fmt::format("<g id=\"{}\">", inspect::id_of(picture_.outline().call(c)));
    append_rectangle(text, nested_.box(c), "box");
    text += "</g>\n";
  }

  void append_title(std::string& text, int c) const {
    const Item box = nested_.box(c);
    append_text(text, {box.x - box.width / 2 + Nested::padding, box.y - box.height / 2 + 18}, "title",
                picture_.title(c));
    text += '\n';
  }

  void append_node(std::string& text, std::size_t i) const {
    const Label& label = labels_[i];
    const Item item = nested_.node(static_cast<int>(i));
    text += fmt::format("<g id=\"{}\">", picture_.id(picture_.nodes()[i]));
    append_rectangle(text, item, label.kind);
    Point at{item.x, item.y - item.height / 2 + node_padding / 2 + 13};
    append_text(text, at, "word", label.word);
    if (!label.name.empty()) append_text(text, {at.x, at.y += line_height}, "name", label.name);
    append_text(text, {at.x, at.y + line_height}, "shape", label.shape);
    text += "</g>\n";
  }

  // Curves that leave and arrive upright.
  void append_arrows(std::string& text) const {
    for (const inspect::Run& run : nested_.runs()) {
      Point at = run.way[0];
      text += fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}", run.reader >= 0 ? "arrow" : "line", at.x,
                          at.y);
      for (const Point& next : std::span(run.way).subspan(1)) {
        const double middle = (at.y + next.y) / 2;
        if (at.x == next.x && at.y == next.y) continue;
        if (at.x == next.x)
          text += fmt::format(" V{:.1f}", next.y);
        else
          text +=
              fmt::format(" C{0:.1f} {1:.1f} {2:.1f} {1:.1f} {2:.1f} {3:.1f}", at.x, middle, next.x, next.y);
        at = next;
      }
      text += "\"/>\n";
    }
  }

  const Picture& picture_;
  std::vector<Label> labels_;
  Nested nested_;
};

}  // namespace

std::string svg(const Tape& tape, const SvgOptions& options) {
  const Picture picture(TapeGraph(tape), options.fold);
  return Drawing(picture, options.glossary).text();
}

void svg(std::FILE* file, const Tape& tape, const SvgOptions& options) {
  const std::string text = svg(tape, options);
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size())
    fail("[svg] the file could not be written");
}

}  // namespace pencil
