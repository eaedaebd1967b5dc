#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <set>
#include <sstream>

#include "autograd/inspect/layout.hpp"
#include "autograd/inspect/svg.hpp"
#include "tests/catch.hpp"
#include "tests/inspect/support.hpp"
#include "tests/paths.hpp"

using namespace pencil;
using namespace pencil::tests;
using boost::property_tree::ptree;
using inspect::Item;
using inspect::Link;

namespace {

// All texts of a drawing, as an XML parser reads them. Throws where it is not well-formed.
std::multiset<std::string> texts_of(const std::string& svg) {
  std::istringstream stream(svg);
  ptree tree;
  boost::property_tree::read_xml(stream, tree);
  std::multiset<std::string> texts;
  std::vector<const ptree*> open{&tree};
  while (!open.empty()) {
    const ptree* here = open.back();
    open.pop_back();
    for (const auto& [tag, inner] : *here) {
      if (tag == "text") texts.insert(inner.data());
      open.push_back(&inner);
    }
  }
  return texts;
}

bool overlap(const Item& a, const Item& b) {
  return std::abs(a.x - b.x) * 2 < a.width + b.width - 1e-6 &&
         std::abs(a.y - b.y) * 2 < a.height + b.height - 1e-6;
}

}  // namespace

TEST_CASE("a tape as a picture reads as it should") {
  const Cells cells;
  CHECK(svg(cells.tape) == golden_text("cells.svg"));
}

TEST_CASE("a picture shows word, name and shape of each step and the title of each module") {
  const Cells cells;
  CHECK(texts_of(svg(cells.tape, {.glossary = Glossary::textbook})) ==
        std::multiset<std::string>{"cell, call 1 of 2",
                                   "mix, call 1 of 2",
                                   "cell, call 2 of 2",
                                   "mix, call 2 of 2",
                                   "constant",
                                   "sheet",
                                   "query weight matrix",
                                   "cell.mix.weight",
                                   "query",
                                   "query",
                                   "twice",
                                   "twice",
                                   "twice",
                                   "times",
                                   "loss",
                                   "(2, 2)",
                                   "(2, 2)",
                                   "(2, 2)",
                                   "(2, 2)",
                                   "(2, 2)",
                                   "(2, 2)",
                                   "(2, 2)",
                                   "(2, 2)"});
  const auto folded = texts_of(svg(cells.tape, {.fold = 1}));
  CHECK(folded.count("2 steps") == 2);
  CHECK(folded.count("WANT") == 0);
}

TEST_CASE("a picture shows a plain number beside the shape") {
  Tape tape;
  (void)(named(ones({2}), "x") * 0.5);
  CHECK(texts_of(svg(tape)).count("(2) with 0.5") == 1);
}

TEST_CASE("a picture is well-formed for every name, and changes nothing") {
  const std::vector<std::string> names{"<b>&amp;\"'</b>", "]]> --> <!--", "\n\x01\x1b",
                                       "\xff\xc3",        "\xef\xbf\xbe", "emoji 😀"};
  Tape tape;
  for (const std::string& name : names) {
    const Scope scope(WholePath{name});
    (void)named(twice(named(ones({2}), name)), name);
  }
  const std::string before = dump(tape);
  const auto texts = texts_of(svg(tape));
  for (const char* shown :
       {"<b>&amp;\"'</b>", "]]> --> <!--", "\\n\\x01\\x1b", "\\xff\\xc3", "\\ufffe", "emoji 😀"})
    CHECK(texts.count(shown) == 3);
  CHECK(dump(tape) == before);
  CHECK(svg(tape) == svg(tape));
}

TEST_CASE("a picture of a tape without steps is one, too") {
  const Tape tape;
  CHECK(texts_of(svg(tape)).empty());
}

TEST_CASE("in a layout nothing overlaps and every link leads down, whatever the graph") {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u}) {
    Rng rng{seed};
    std::vector<Item> items;
    std::vector<Link> links;
    for (int i = 0; i < 150; ++i) {
      items.push_back(
          {20 + 2.0 * static_cast<double>(rng.below(40)), 20 + 2.0 * static_cast<double>(rng.below(15))});
      for (std::uint64_t k = i == 0 ? 0 : rng.below(4); k > 0; --k)
        links.push_back({static_cast<int>(rng.below(static_cast<std::uint64_t>(i))), i});
    }
    const inspect::Point size = inspect::lay_out(items, links);
    REQUIRE(items.size() == 150);
    CAPTURE(seed);
    for (const Link& link : links) {
      const Item &from = items[static_cast<std::size_t>(link.from)],
                 &to = items[static_cast<std::size_t>(link.to)];
      CHECK(from.y + from.height / 2 < to.y - to.height / 2);
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      CHECK(items[i].x - items[i].width / 2 >= -1e-6);
      CHECK(items[i].x + items[i].width / 2 <= size.x + 1e-6);
      CHECK(items[i].y + items[i].height / 2 <= size.y + 1e-6);
      for (std::size_t k = 0; k < i; ++k) CHECK_FALSE(overlap(items[i], items[k]));
    }
  }
}

TEST_CASE("a layout puts a leaf just above its reader and a chain straight down") {
  std::vector<Item> items{{40, 20}, {40, 20}, {40, 20}, {40, 20}};  // 0 → 1 → 3, and 2 → 3
  std::vector<Link> links{{0, 1}, {1, 3}, {2, 3}};
  inspect::lay_out(items, links);
  CHECK(items[2].y == items[1].y);
  CHECK(items[0].x == items[1].x);
  CHECK(std::abs(items[3].x - (items[1].x + items[2].x) / 2) <= 1);
}

TEST_CASE("a long tape is drawn in linear time") {
  const auto bytes = [](int steps) {
    Tape tape;
    Tensor x = parameter(ones({1}), "x");
    for (int i = 0; i < steps; ++i) x = times(x, x);
    return svg(tape).size();
  };
  CHECK(static_cast<double>(bytes(20000)) / static_cast<double>(bytes(2000)) < 11.5);
}
