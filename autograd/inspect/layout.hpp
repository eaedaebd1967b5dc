#pragma once

// Where things stand in a layered drawing (after Sugiyama, Tagawa, Toda: Methods for visual understanding of
// hierarchical system structures, 1981). Geometry only; svg.cpp draws, and html_page.js does the same in the
// page.

#include <vector>

namespace pencil::inspect {

struct Point {
  double x, y;
};

/// Something with a size, in even numbers; x and y are its centre once it is laid out.
struct Item {
  double width, height;
  double x = 0, y = 0;
  bool port = false;  // no thing but a place at the upper edge, where links come in
};

/// An arrow from an item to one behind it in the list, or from a port; it begins and ends so far beside their
/// centres.
struct Link {
  int from, to;
  double from_dx = 0, to_dx = 0;
  std::vector<Point> bends = {};  // where it enters and leaves each layer between
};

/// Places items in layers from top to bottom, each below all it has links from, and as near to what it leads
/// to as the longest path allows; within a layer in an order that crosses few links. The drawing begins at
/// (0, 0); its size is returned. A fixed number of sweeps, linear in items and links.
Point lay_out(std::vector<Item>& items, std::vector<Link>& links);

}  // namespace pencil::inspect
