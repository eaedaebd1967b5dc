#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <limits>
#include <sstream>

#include "autograd/inspect/curves.hpp"
#include "tests/catch.hpp"
#include "tests/inspect/support.hpp"

using namespace pencil;
using boost::property_tree::ptree;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

// What stands under a tag, by the attribute or the text it holds; throws where the picture is not
// well-formed.
std::vector<std::string> all(const std::string& svg, const std::string& tag,
                             const std::string& attribute = "") {
  std::istringstream stream(svg);
  ptree tree;
  boost::property_tree::read_xml(stream, tree);
  std::vector<std::string> found;
  for (const auto& [name, inner] : tree.get_child("svg"))
    if (name == tag)
      found.push_back(attribute.empty() ? inner.data() : inner.get("<xmlattr>." + attribute, std::string()));
  return found;
}

bool has(const std::vector<std::string>& list, const std::string& one) {
  return std::ranges::find(list, one) != list.end();
}

const Chart accuracy{
    .title = "Accuracy",
    .x = "pass",
    .y = "share right",
    .curves = {{"train", {1, 2, 3}, {0.75, 0.83, 0.951}}, {"test", {1, 2, 3}, {0.82, no_number, 0.8}}}};

}  // namespace

TEST_CASE("a chart has title, axes with round numbers, and a line and a name for each curve") {
  const std::string svg = curves_svg(accuracy);
  const auto texts = all(svg, "text");
  for (const char* text :
       {"Accuracy", "pass", "share right", "train", "test", "1", "2", "3", "0.75", "0.95", "1"})
    CHECK(has(texts, text));
  CHECK_FALSE(has(texts, "1.5"));  // there is no pass and a half
  CHECK(all(svg, "circle").size() == 5);
  CHECK_THAT(svg, Says("<title>train 3: 0.951</title>"));
}

TEST_CASE("axes are marked with the plain round numbers, whatever the size of the values") {
  const auto marked = [](double least, double largest, const char* mark) {
    return has(all(curves_svg({.title = "t", .curves = {{"a", {0, 1}, {least, largest}}}}), "text"), mark);
  };
  CHECK(marked(0.1, 0.5, "0.3"));
  CHECK(marked(0.001, 0.0011, "0.00102"));
  CHECK(marked(-0.3, 0.2, "0"));
  CHECK(marked(0, 20000, "5000"));
}

TEST_CASE("a gap in a curve stays a gap") {
  const auto lines = all(curves_svg(accuracy), "path", "d");
  const auto moves = [](const std::string& path) { return std::ranges::count(path, 'M'); };
  std::vector<std::string> curves;
  for (const std::string& line : lines)
    if (moves(line) == 2) curves.push_back(line);
  CHECK(curves.size() == 1);
}

TEST_CASE("charts of nothing, of one value and of what is not finite are charts") {
  CHECK(all(curves_svg({.title = "empty", .curves = {}}), "circle").empty());
  CHECK(all(curves_svg({.title = "one", .curves = {{"a", {1}, {0}}}}), "circle").size() == 1);
  CHECK(all(curves_svg({.title = "flat", .curves = {{"a", {1, 2}, {5, 5}}}}), "circle").size() == 2);
  const std::string odd = curves_svg({.title = "odd", .curves = {{"a", {1, 2, 3}, {no_number, inf, -inf}}}});
  CHECK(all(odd, "circle").empty());
  CHECK_THAT(odd, !Says("nan") && !Says("inf"));
  CHECK_THAT(curves_svg({.title = "tiny", .curves = {{"a", {0, 1e-300}, {1e300, -1e300}}}}), !Says("nan"));
}

TEST_CASE("every name of a curve is well-formed, and uneven curves throw") {
  const auto texts = all(curves_svg({.title = "<&\n", .curves = {{"\xff\"</svg>", {1}, {1}}}}), "text");
  CHECK(has(texts, "<&\\n"));
  CHECK(has(texts, "\\xff\"</svg>"));
  CHECK_THROWS_WITH(curves_svg({.title = "t", .curves = {{"a", {1, 2}, {1}}}}),
                    "[curves_svg] curve 'a' has 2 x and 1 y; need as many of each");
}
