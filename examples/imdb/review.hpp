#pragma once

#include <string>

namespace pencil::imdb {

/// One review and its label: 1 liked, 0 hated.
struct Review {
  std::string text;
  int label = 0;
};

}  // namespace pencil::imdb
