#include "autograd/inspect/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "autograd/format.hpp"
#include "autograd/inspect/attention_maps.hpp"
#include "autograd/inspect/cells.hpp"
#include "autograd/inspect/explain.hpp"
#include "autograd/inspect/facts.hpp"
#include "autograd/inspect/html_page.inc"
#include "autograd/inspect/markup.hpp"
#include "autograd/inspect/outline.hpp"
#include "autograd/inspect/picture.hpp"
#include "autograd/inspect/statements.hpp"
#include "autograd/inspect/wording.hpp"

namespace pencil {

namespace {

using inspect::append_xml;
using inspect::Cell;
using inspect::Facts;
using inspect::Outline;
using inspect::plain;
using json = nlohmann::ordered_json;

constexpr std::int64_t most_looking = 512;  // rows and keys of a map of attention

std::string lines_of(const Cell& cell) {
  std::string text;
  for (std::size_t i = 0; i < cell.lines(); ++i) {
    if (i > 0) text += '\n';
    text += plain(cell[i]);
  }
  return text;
}

// A text that keeps its lines, each plain.
std::string plain_lines(std::string_view text) {
  std::string to;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    to += plain(text.substr(at, end - at));
    if (end < text.size()) to += '\n';
    at = end + 1;
  }
  return to;
}

// All that the page's script knows.
class Data {
 public:
  Data(const Tape& tape, const HtmlOptions& options)
      : tape_(tape),
        options_(options),
        facts_(tape),
        scalars_(tape),
        outline_(tape, Uses(tape)),
        noun_(inspect::noun_for_gradient(options.glossary)),
        first_(std::max(0, tape.size() - static_cast<int>(std::min<std::size_t>(options.most, 1u << 30)))) {}

  std::string about() const {
    std::string text = fmt::format("{} step{}, {} parameter{}", tape_.size(), tape_.size() == 1 ? "" : "s",
                                   facts_.parameters(), facts_.parameters() == 1 ? "" : "s");
    if (facts_.usual()) text += fmt::format(", {}", name_of(*facts_.usual()));
    if (tape_.backward_from() < 0)
      text += ", no backward yet";
    else
      text += fmt::format(", backward from step {}", tape_.backward_from());
    if (first_ > 0)
      text += fmt::format(". Only the last {} steps are shown: steps 0 to {} are left out",
                          tape_.size() - first_, first_ - 1);
    return text;
  }

  // Safe within <script>: a < in a name cannot begin a tag.
  std::string text() const {
    json all;
    all["gradient"] = translated("gradient", options_.glossary);
    all["noun"] = noun_;
    all["fold"] = options_.fold;
    all["calls"] = calls();
    all["steps"] = json::array();
    for (int i = first_; i < tape_.size(); ++i) all["steps"].push_back(step(tape_.step(i)));
    all["words"] = json::array();
    for (const std::string& word : options_.words) all["words"].push_back(plain(word));
    all["attention"] = attention();
    std::string safe;
    for (const char c : all.dump(-1, ' ', false, json::error_handler_t::replace))
      c == '<' ? safe += "\\u003c" : safe += c;
    return safe;
  }

 private:
  json calls() const {
    json all = json::array();
    for (const inspect::Call& call : outline_.calls())
      all.push_back({{"name", plain(call.name())},
                     {"path", plain(call.path)},
                     {"parent", call.parent},
                     {"first", call.first},
                     {"last", call.last},
                     {"steps", call.steps},
                     {"turn", call.turn},
                     {"turns", call.turns}});
    return all;
  }

  json step(const Step& step) const {
    const inspect::Label label = inspect::label_of(step, options_.glossary);
    json j;
    j["n"] = step.number();
    j["call"] = outline_.call_of(step.number());
    j["kind"] = label.kind;
    j["word"] = label.word;
    j["name"] = label.name;
    j["shape"] = label.shape;
    j["from"] = json::array();
    for (int i = 0; i < step.inputs(); ++i)
      if (step.input_step(i) >= 0) j["from"].push_back(step.input_step(i));
    Cell value, blame, settings;
    if (step.kind() == StepKind::scalars) {
      append_statements(value, blame, step);
    } else {
      inspect::append_value(value, facts_.value(step), options_.whole);
      inspect::append_blame(blame, facts_.blame(step), noun_, options_.whole);
    }
    inspect::append_settings(settings, step);
    std::string name, source;
    inspect::append_name(name, step);
    inspect::append_source(source, step);
    j["long"] = plain(name);
    j["value"] = lines_of(value);
    j["blame"] = lines_of(blame);
    j["settings"] = lines_of(settings);
    j["source"] = plain(source);
    if (step.kind() == StepKind::op) j["work"] = work(step);
    return j;
  }

  // A line a statement.
  void append_statements(Cell& value, Cell& blame, const Step& step) const {
    constexpr std::size_t most = 200;
    const ScalarStatements::Range all = scalars_.of(step);
    for (std::size_t i = all.first; i < all.last; ++i) {
      if (i == all.first + most) {
        value.line() += fmt::format("… {} more", all.last - i);
        break;
      }
      value.line() += scalars_.text(i);
      if (scalars_.reached(i))
        append_number(blame.line(), scalars_.gradient(i));
      else
        blame.line() += tape_.backward_from() < 0 ? fmt::format("no {} yet", noun_) : "none came";
    }
    if (const std::string stacked = scalars_.stacked(step); !stacked.empty()) value.line() += stacked;
  }

  // The arithmetic of each number of a small tensor, of the first number of any other.
  json work(const Step& step) const {
    json all = json::array();
    const Shape& shape = step.shape();
    const std::int64_t numbers = shape.size() <= options_.worked ? shape.size() : 1;
    std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()), 0);
    for (std::int64_t i = 0; i < numbers; ++i) {
      all.push_back(plain_lines(explain(tape_, step.number(), index, {.glossary = options_.glossary})));
      for (int axis = shape.rank(); axis-- > 0;) {  // on to the next number
        std::int64_t& place = index[static_cast<std::size_t>(axis)];
        if (++place < shape[axis]) break;
        place = 0;
      }
    }
    return all;
  }

  json attention() const {
    json all = json::array();
    for (const inspect::AttentionMap& map : inspect::attention_maps(tape_, first_)) {
      json j{{"step", map.step}, {"fault", plain(map.fault)}};
      if (map.weights.defined()) {
        const std::int64_t heads = map.weights.size(0), rows = map.weights.size(1),
                           keys = map.weights.size(2);
        const std::int64_t shown_rows = std::min(rows, most_looking),
                           shown_keys = std::min(keys, most_looking);
        j["samples"] = map.samples;
        j["rows"] = shown_rows;
        j["keys"] = shown_keys;
        j["left_out"] = shown_rows < rows || shown_keys < keys;
        j["heads"] = json::array();
        for (std::int64_t head = 0; head < heads; ++head) {
          json weights = json::array();
          for (std::int64_t row = 0; row < shown_rows; ++row)
            for (std::int64_t key = 0; key < shown_keys; ++key)
              weights.push_back(weight(map.weights, (head * rows + row) * keys + key));
          j["heads"].push_back(std::move(weights));
        }
      }
      all.push_back(std::move(j));
    }
    return all;
  }

  // To five places; what is not finite is null.
  static json weight(const Tensor& weights, std::int64_t i) {
    const double w = weights.values<double>()[static_cast<std::size_t>(i)];
    return std::isfinite(w) ? json(std::round(w * 1e5) / 1e5) : json(nullptr);
  }

  const Tape& tape_;
  const HtmlOptions& options_;
  Facts facts_;
  ScalarStatements scalars_;
  Outline outline_;
  std::string noun_;
  int first_;
};

std::string escaped(std::string_view text) {
  std::string to;
  append_xml(to, text);
  return to;
}

constexpr std::string_view frame = R"page(<main>
<div id="tape">
<div id="picture">
<div id="tools">
<button id="fit" title="Show all (0)">Fit</button>
<button id="closer" title="Closer (+)">+</button>
<button id="farther" title="Farther (-)">−</button>
<button id="fold">Fold all</button>
<button id="unfold">Unfold all</button>
<input id="find" type="search" placeholder="Find a step" aria-label="Find a step by number, word or name">
</div>
<svg id="drawing" role="group" aria-label="The steps of the tape"></svg>
</div>
<aside id="chosen" aria-live="polite" tabindex="-1"></aside>
</div>
<section id="attention" class="below" hidden><h2></h2><div></div></section>
)page";

}  // namespace

std::string html(const Tape& tape, const HtmlOptions& options) {
  if (options.fold < -1)
    fail("[html] fold is {}; need a depth, 0 to fold nothing, or -1 to leave it to the page", options.fold);
  const Data data(tape, options);
  std::string page =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n";
  const std::string title = escaped(plain(options.title));
  page += fmt::format("<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n", title, page_style);
  page += fmt::format("<header>\n<h1>{}</h1>\n<p class=\"soft\">{}.</p>\n</header>\n", title,
                      escaped(data.about()));
  page += frame;
  if (!options.charts.empty()) {
    page += "<section class=\"below charts\">\n";
    for (const Chart& chart : options.charts) page += curves_svg(chart);
    page += "</section>\n";
  }
  for (const Note& note : options.notes)
    page += fmt::format("<section class=\"below\"><h2>{}</h2>\n<pre>{}</pre></section>\n",
                        escaped(plain(note.title)), escaped(plain_lines(note.text)));
  page += fmt::format("</main>\n<script type=\"application/json\" id=\"data\">{}</script>\n", data.text());
  return page + fmt::format("<script>{}</script>\n</body>\n</html>\n", page_script);
}

void html(std::FILE* file, const Tape& tape, const HtmlOptions& options) {
  const std::string text = html(tape, options);
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size())
    fail("[html] the file could not be written");
}

}  // namespace pencil
