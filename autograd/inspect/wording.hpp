#pragma once

// How the text table words what stands in a step's line.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/inspect/cells.hpp"
#include "autograd/inspect/facts.hpp"
#include "autograd/inspect/glossary.hpp"
#include "autograd/tape.hpp"

namespace pencil::inspect {

/// "attend.query: name (gradient of step 7)".
void append_name(std::string& to, const Step& step);
/// The steps it was computed from: "0…5 7 (version 1) 0.5".
void append_inputs(std::string& to, const Step& step);
/// The same for ascending step numbers.
void append_numbers(std::string& to, const std::vector<int>& numbers);
/// "axis=1".
std::string setting_text(const Attributes::Entry& setting);
/// All settings, several to a line, as many as fit.
void append_settings(Cell& to, const Step& step);
/// A value, or where it has gone: "freed", "overwritten at train.cpp:12, version 3 → 4".
void append_value(Cell& to, const ValueFact& fact, std::int64_t whole);
/// A gradient, or why there is none; `noun` is what the glossary calls it, in small letters.
void append_blame(Cell& to, const BlameFact& fact, std::string_view noun, std::int64_t whole);
/// "blame", "leftover", "gradient".
std::string noun_for_gradient(Glossary glossary);
/// The user's line and, where it differs, the op's: "main.cpp:12 (loss.cpp:80)".
void append_source(std::string& to, const Step& step);

/// How wide a column of settings is.
inline constexpr std::size_t settings_width = 32;

}  // namespace pencil::inspect
