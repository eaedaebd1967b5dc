#include <set>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/inspect/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

std::string word(const Tape& tape, const Tensor& x, Glossary glossary) {
  return std::string(word_of(tape.step(tape.step_of(x)), glossary));
}

}  // namespace

TEST_CASE("a step is called by its role first, then by its word, in three glossaries") {
  const Tensor w = parameter(tensor({2, 1, 1, 0}), "attend.query.weight");
  const Tensor b = parameter(tensor({2, 1, 1, 0}), "layer.bias");
  const Tensor dial = parameter(tensor(1), "alpha");
  Tape tape;
  Tensor query, plain, own;
  {
    const Role role("query");
    query = times(w, dial);
  }
  plain = times(query, b);
  {
    const Role role("my own");
    own = twice(plain);
  }
  CHECK(word(tape, query, Glossary::pencil) == "WANT");
  CHECK(word(tape, query, Glossary::sketchbook) == "ask");
  CHECK(word(tape, query, Glossary::textbook) == "query");
  CHECK(word(tape, plain, Glossary::pencil) == "times");
  CHECK(word(tape, own, Glossary::sketchbook) == "my own");
  CHECK(word(tape, w, Glossary::pencil) == "WANT-grid");
  CHECK(word(tape, w, Glossary::textbook) == "query weight matrix");
  CHECK(word(tape, b, Glossary::pencil) == "nudge");
  CHECK(word(tape, b, Glossary::sketchbook) == "bias");
  CHECK(word(tape, dial, Glossary::pencil) == "dial");
  CHECK(word(tape, dial, Glossary::textbook) == "parameter");
}

TEST_CASE("a glossary without a word prints the textbook's") {
  CHECK(translated("gradient", Glossary::pencil) == "BLAME");
  CHECK(translated("gradient", Glossary::textbook) == "gradient");
  CHECK(translated("global average pooling", Glossary::sketchbook) == "bag");
  CHECK(translated("sigmoid", Glossary::sketchbook) == "sigmoid");
  CHECK(translated("no such term", Glossary::pencil) == "no such term");
}

TEST_CASE("each key and each textbook term has one row") {
  std::set<std::string> keys, textbook;
  for (const Term& term : glossary_terms()) {
    CAPTURE(std::string(term.textbook));
    CHECK_FALSE(term.textbook.empty());
    CHECK(textbook.insert(std::string(term.textbook)).second);
    std::istringstream parts{std::string(term.keys)};
    for (std::string key; std::getline(parts, key, '|');) {
      CHECK_FALSE(key.empty());
      CHECK(keys.insert(key).second);
    }
  }
  for (const char* key :
       {"query", "key", "value", "scores", "scale", "weights", "mix", "glue", "blend", "collapse", "workers",
        "embedding", "position", "loss", "linear", "attention", "attention_weights"})
    CHECK(keys.contains(key));
}

TEST_CASE("a row serves several words") {
  static const Op fused{"attention_weights",
                        {.forward = [](Inputs in, const Attributes&) { return Computed(in[0]); }}};
  static const Op linear{"linear", {.forward = [](Inputs in, const Attributes&) { return Computed(in[0]); }}};
  const Tensor x = tensor({1, 2});
  Tape tape;
  const Tensor weights = apply(fused, {x});
  const Tensor workers = apply(linear, {x});
  CHECK(word(tape, weights, Glossary::pencil) == "FRACTIONS");
  CHECK(word(tape, workers, Glossary::sketchbook) == "tiny net");
  CHECK(word(tape, workers, Glossary::textbook) == "dense layer");
}

TEST_CASE("glossaries are known by name") {
  CHECK(glossary_named("sketchbook") == Glossary::sketchbook);
  CHECK(glossary_named("Pencil") == std::nullopt);
  CHECK(name_of(Glossary::pencil) == "pencil");
}
