// Catch2's main, where Catch2 2.13 was installed without the library that brings one.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
