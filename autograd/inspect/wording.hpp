#pragma once

// How the text table words what stands in a step's line.

#include <string>
#include <vector>

#include "autograd/inspect/cells.hpp"
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
/// The user's line and, where it differs, the op's: "main.cpp:12 (loss.cpp:80)".
void append_source(std::string& to, const Step& step);

/// How wide a column of settings is.
inline constexpr std::size_t settings_width = 32;

}  // namespace pencil::inspect
