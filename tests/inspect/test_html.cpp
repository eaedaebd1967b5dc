#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "autograd/inspect/html.hpp"
#include "tests/catch.hpp"
#include "tests/inspect/browser.hpp"
#include "tests/inspect/support.hpp"
#include "tests/process.hpp"

using namespace pencil;
using namespace pencil::tests;
using json = nlohmann::json;

namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// What the page's script reads.
json data_of(const std::string& page) {
  const std::string before = "<script type=\"application/json\" id=\"data\">";
  const std::size_t first = page.find(before) + before.size();
  return json::parse(page.substr(first, page.find("</script>", first) - first));
}

// Two words and two slots of padding look at each other with two heads, then a loss.
struct Review {
  Tensor q = parameter(tensor({{2, 0, 0, 1}, {0, 3, 1, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}), "want");
  Tensor k = named(tensor({{1, 0, 1, 0}, {0, 2, 0, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}}), "have");
  Tensor v = named(tensor({{1, 2, 3, 4}, {5, 6, 7, 8}, {0, 0, 0, 0}, {0, 0, 0, 0}}), "give");
  std::vector<std::string> words{"nolan", "ended", "", "·"};
  std::optional<Tape> tape;
  Tensor mix, loss;

  explicit Review(TapeOptions options = {}) {
    tape.emplace(options);
    {
      const Scope scope("attend");
      mix = attention(q, k, v, {.heads = 2});
    }
    loss = named(mean(mix), "loss");
    tape->backward(loss);
  }
  Tensor weights() const {
    const Tape::Pause pause;
    return attention_weights(q.detach(), k, {.heads = 2});
  }
};

}  // namespace

TEST_CASE("a page holds for each step what the dump says of it") {
  const Cells cells;
  const std::string page = html(cells.tape, {.title = "Cells & co", .glossary = Glossary::textbook});
  CHECK_THAT(page,
             Says("<title>Cells &amp; co</title>") && Says("8 steps, 1 parameter, f32, no backward yet."));
  const json data = data_of(page);
  CHECK(data["steps"].size() == 8);
  const json step = data["steps"][2];
  CHECK(step["word"] == "query");
  CHECK(step["long"] == "cell.mix");
  CHECK(step["shape"] == "(2, 2)");
  CHECK(step["from"] == json({0, 1}));
  CHECK(step["value"] == "[1      4]\n[0.999 18]");
  CHECK(step["blame"] == "no gradient yet");
  REQUIRE(step["work"].size() == 4);
  CHECK(step["work"][2] == explain(cells.tape, 2, {1, 0}, {.glossary = Glossary::textbook}));
  CHECK_FALSE(data["steps"][0].contains("work"));
  CHECK_THAT(step["source"].get<std::string>(), Says("support.hpp:"));
  CHECK(data["calls"].size() == 4);
  CHECK(data["calls"][3]["path"] == "cell.mix");
  CHECK(data["calls"][3]["turn"] == 2);
  CHECK(data["calls"][3]["parent"] == 2);
}

TEST_CASE("no name breaks out of a page, and each comes back as the dump writes it") {
  const std::string evil = "</script><script>alert(1)</script><!-- \"'&\\ \n\x1b \xff 😀";
  const std::string shown = "</script><script>alert(1)</script><!-- \"'&\\ \\n\\x1b \\xff 😀";
  Tape tape;
  {
    const Scope scope(WholePath{evil});
    (void)named(twice(named(ones({2}), evil)), evil);
  }
  const std::string page = html(tape, {.title = evil,
                                       .words = {evil},
                                       .charts = {{.title = evil, .curves = {{evil, {1}, {1}}}}},
                                       .notes = {{evil, evil}}});
  CHECK(count(page, "<script") == 2);
  CHECK(count(page, "</script") == 2);
  CHECK(count(page, "<!--") == 0);
  const json data = data_of(page);
  CHECK(data["calls"][0]["path"] == shown);
  CHECK(data["words"][0] == shown);
  CHECK(data["steps"][1]["long"] == shown + ": " + shown);
}

TEST_CASE("a page fetches nothing") {
  const std::string page =
      html(Review().tape.value(), {.charts = {{.title = "t", .curves = {{"a", {1}, {1}}}}}});
  for (const char* way : {"src=", "href", "@import", "fetch(", "XMLHttpRequest", "import(", "https:"})
    CHECK(count(page, way) == 0);
  CHECK(count(page, "http:") == count(page, "http://www.w3.org/2000/svg"));
  CHECK(count(page, "url(") == count(page, "url(#"));
}

TEST_CASE("a page is the same bytes again and changes nothing, with a tape recording all the while") {
  Review review;
  const std::string before = dump(*review.tape);
  const Tensor gradient = copy(review.q.grad());
  const std::string page = html(*review.tape, {.words = review.words});
  CHECK(page == html(*review.tape, {.words = review.words}));
  CHECK(dump(*review.tape) == before);
  CHECK(review.q.grad().to_vector() == gradient.to_vector());
  CHECK(Tape::current() == &*review.tape);
}

TEST_CASE("a page shows the weights of attention, fused or in steps, head by head") {
  for (const Detail detail : {Detail::fast, Detail::steps}) {
    const Review review({.detail = detail});
    const json maps = data_of(html(*review.tape, {.words = review.words}))["attention"];
    REQUIRE(maps.size() == 1);
    CHECK(maps[0]["rows"] == 4);
    CHECK(maps[0]["keys"] == 4);
    CHECK(maps[0]["left_out"] == false);
    REQUIRE(maps[0]["heads"].size() == 2);
    const std::vector<double> weights = review.weights().to_vector();
    for (std::size_t i = 0; i < weights.size(); ++i)
      CHECK(maps[0]["heads"][i / 16][i % 16].get<double>() == Approx(weights[i]).margin(1e-5));
  }
}

TEST_CASE("of a batch a page shows the first sample, and of a long row its beginning, and says so") {
  Rng rng{5};
  const Tensor q = randn({3, 4, 2}, rng), k = randn({3, 600, 2}, rng);
  Tape tape;
  const Tensor y = attention(q, k, k), weights = attention_weights(q, k);
  const json maps = data_of(html(tape))["attention"];
  REQUIRE(maps.size() == 2);
  for (const json& map : maps) {
    CHECK(map["samples"] == 3);
    CHECK(map["keys"] == 512);
    CHECK(map["left_out"] == true);
    CHECK(map["heads"][0][512].get<double>() == Approx(weights.to_vector()[600]).margin(1e-5));
  }
}

TEST_CASE("weights that cannot be computed any more are not shown, and the page says why") {
  const Review review({.keep = Keep::leaves});
  Tape after({.keep = Keep::leaves});
  const Tensor q = twice(review.q), loss = mean(attention(q, q, q));
  after.backward(loss);
  const json maps = data_of(html(after))["attention"];
  REQUIRE(maps.size() == 1);
  CHECK_THAT(maps[0]["fault"].get<std::string>(), Says("was freed as backward passed"));
  CHECK_FALSE(maps[0].contains("heads"));
}

TEST_CASE("of a long tape only the last steps are on the page, which says so") {
  Tape tape;
  Tensor x = parameter(ones({1}), "x");
  for (int i = 0; i < 100; ++i) x = twice(x);
  const std::string page = html(tape, {.most = 30});
  CHECK_THAT(page, Says("Only the last 30 steps are shown: steps 0 to 70 are left out."));
  const json data = data_of(page);
  CHECK(data["steps"].size() == 30);
  CHECK(data["steps"][0]["n"] == 71);
}

TEST_CASE("of a large tensor a page explains the first number only") {
  Tape tape;
  (void)square(named(arange(100, f64), "x"));
  CHECK(data_of(html(tape))["steps"][1]["work"] == json::array({explain(tape, 1, {0})}));
  CHECK(data_of(html(tape, {.worked = 100}))["steps"][1]["work"].size() == 100);
}

TEST_CASE("charts and notes stand on the page as they are") {
  const Tape tape;
  const std::string page = html(tape, {.charts = {{.title = "Losses", .curves = {{"train", {1, 2}, {3, 2}}}}},
                                       .notes = {{"Is blame flowing?", "a\tb <ok>\n  c"}}});
  CHECK_THAT(
      page, Says("Losses") && Says("<h2>Is blame flowing?</h2>") && Says("<pre>a\\tb &lt;ok&gt;\n  c</pre>"));
  CHECK_THROWS_WITH(html(tape, {.fold = -2}),
                    "[html] fold is -2; need a depth, 0 to fold nothing, or -1 to leave it to the page");
}

TEST_CASE("in a browser: a click on a step shows its value and blame, keys walk on, modules fold") {
  const auto chromium = installed("chromium");
  if (!chromium) return;
  const Review review;
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "pencil_test_page.html";
  {
    std::ofstream out(file, std::ios::binary);
    out << html(*review.tape, {.words = review.words});
  }
  Browser page(*chromium, file);
  const auto text = [&](const std::string& selector) {
    return page.evaluate("document.querySelector('" + selector + "').textContent");
  };
  CHECK_THAT(text("#chosen"), Says("Choose a step"));

  const int mix = review.tape->step_of(review.mix), loss = review.tape->step_of(review.loss);
  page.click(fmt::format("#step{}", loss));
  CHECK_THAT(text("#chosen h2"), Says("loss") || Says("mean"));
  CHECK(text("#value") == number_text(review.loss.item()));
  CHECK(text("#blame") == "1");
  CHECK_THAT(text("#source"), Says("test_html.cpp:"));

  std::string arithmetic = explain(*review.tape, loss, std::initializer_list<std::int64_t>{});
  while (arithmetic.ends_with('\n')) arithmetic.pop_back();
  CHECK(text(".work") == arithmetic);

  page.press("ArrowUp");
  CHECK(page.evaluate("document.activeElement.id") == fmt::format("step{}", mix));
  CHECK_THAT(text("#chosen h2"), Says("NEW STICK"));

  const auto nodes = [&] { return page.evaluate("document.querySelectorAll('.node').length"); };
  const std::string all = nodes();
  page.click("#fold");
  CHECK(nodes() != all);
  page.click("#module0");
  CHECK(nodes() == all);

  page.evaluate("document.querySelector('#attention').scrollIntoView()");
  page.evaluate("document.querySelector('.map').focus()");
  page.press("ArrowRight");
  const Tensor weights = review.weights();
  CHECK_THAT(text(".reading"), Says(fmt::format("nolan looks at ended: {:.3f} of all its attention.",
                                                weights.to_vector()[1])) &&
                                   Says("Padding takes"));
  std::filesystem::remove(file);
}
