// Catch2 2.13 or 3 behind one include. Tests use what both have: TEST_CASE, SECTION, GENERATE, REQUIRE,
// CHECK, INFO, CAPTURE, Approx, REQUIRE_THROWS_AS, REQUIRE_THROWS_WITH(expression, Says("part of the text")).
#pragma once

#include <string>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using Catch::Approx;

/// Matches a text that contains `part`.
inline auto Says(const std::string& part) { return Catch::Matchers::ContainsSubstring(part); }
#else
#include <catch2/catch.hpp>

/// Matches a text that contains `part`.
inline auto Says(const std::string& part) { return Catch::Matchers::Contains(part); }
#endif
