#pragma once

#include <string>

#include "autograd/error.hpp"

namespace pencil::tests {

/// What f throws, to be compared whole; "no error" where it throws none.
template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace pencil::tests
