#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "autograd/tape.hpp"

namespace pencil {

/// Whose words a printed tape speaks: WANT, HAVE and GIVE (pencil), ask, match and carry (sketchbook), or
/// query, key and value (textbook).
enum class Glossary { pencil, sketchbook, textbook };

std::string_view name_of(Glossary glossary);
/// The glossary of a name: "pencil", "sketchbook" or "textbook"; nothing for another.
std::optional<Glossary> glossary_named(std::string_view name);

/// One row of the glossaries. An empty word means that the glossary has none and uses the textbook's.
struct Term {
  std::string_view textbook;
  std::string_view pencil;
  std::string_view sketchbook;
  std::string_view comment;
  /// The roles and op words, with | between, whose steps are called this on a tape; empty for terms that name
  /// no step.
  std::string_view keys;

  std::string_view in(Glossary glossary) const {
    const std::string_view word = glossary == Glossary::pencil       ? pencil
                                  : glossary == Glossary::sketchbook ? sketchbook
                                                                     : textbook;
    return word.empty() ? textbook : word;
  }
};

/// All rows, in the order in which a review passes through them.
std::span<const Term> glossary_terms();

/// The word for a textbook term; the term itself if there is no row for it.
std::string_view translated(std::string_view textbook, Glossary glossary);

/// What a step is called: by its role; for a parameter by its role and the last part of its name ("weight",
/// "bias", "query weight"); else by the op's word. A role or word without a row stands for itself.
std::string_view word_of(const Step& step, Glossary glossary);
/// The word for a role, an op's word or a textbook term; the key itself where there is no row for it.
std::string_view word_of(std::string_view key, Glossary glossary);

}  // namespace pencil
