#pragma once

// Texts of the user's (names, words) on their way into DOT, SVG and HTML: whatever they hold, the file stays
// well-formed and shows them.

#include <cstddef>
#include <string>
#include <string_view>

namespace pencil::inspect {

/// A text as one readable line of sound UTF-8: control characters, broken bytes and characters that XML
/// forbids are written as \n, \x1b, \ufffe.
std::string plain(std::string_view text);
/// The same cut to at most `columns` characters, an … at its end where something is missing.
std::string shortened(std::string_view text, std::size_t columns);

/// Appends a plain text as XML content or an attribute's value.
void append_xml(std::string& to, std::string_view text);
/// Appends a plain text as a part of a quoted DOT string: neither its backslashes nor its ampersands mean
/// anything there.
void append_dot(std::string& to, std::string_view text);

}  // namespace pencil::inspect
