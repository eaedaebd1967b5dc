#pragma once

// A layered drawing (layout.hpp) of boxes in boxes: the inside of each call is a drawing of its own, and one
// item in the drawing around it. So boxes never overlap.

#include <span>
#include <unordered_map>
#include <vector>

#include "autograd/inspect/layout.hpp"
#include "autograd/inspect/picture.hpp"

namespace pencil::inspect {

/// A stretch of one or more arrows, in one drawing.
struct Run {
  std::vector<Point> way;  // from where it begins to where it ends, both included
  int reader;              // the node it ends at, or −1: at the edge of a box, where the next run goes on
};

class Nested {
 public:
  static constexpr double padding = 14, title_height = 22;  // of a box

  /// The sizes of the picture's nodes, and how wide the titles of its calls are.
  Nested(const Picture& picture, std::span<const Item> nodes, std::span<const double> titles);

  Point size() const { return size_; }
  /// Where things stand in the whole drawing. A call must be one that is drawn as a box.
  Item node(int i) const { return placed(static_cast<std::size_t>(i)); }
  Item box(int call) const { return placed(nodes_ + static_cast<std::size_t>(call)); }
  /// All arrows. Those from one node into one box share a run up to its edge.
  std::vector<Run> runs() const;

 private:
  // What a link stands for: where its arrows come from, and the node it ends at or, with −1, the level whose
  // port it ends at.
  struct End {
    int source;
    int reader;
    std::size_t level;
  };
  // The inside of one call, or of none: items in the order of the tape, ports, and links between them.
  struct Level {
    std::vector<Item> items;
    std::vector<Link> links;
    std::vector<End> ends;                       // of each link
    std::unordered_map<int, std::size_t> ports;  // by the source of what comes in
    Point origin{0, 0};                          // of its drawing in the whole one
    double inset = padding;
  };
  struct Place {
    std::size_t level, item;
  };

  const Call& call(int number) const { return picture_.outline().call(number); }
  std::size_t level_of(int call) const {
    return call < 0 ? levels_.size() - 1 : static_cast<std::size_t>(call);
  }
  void sort_into_levels(std::span<const Item> nodes);
  void link(const Arrow& arrow);
  void lay_out_box(std::size_t call, double title);
  Point lay_out_level(std::size_t level);
  double beside_centre(int node, std::size_t level) const;
  Point absolute(std::size_t level, Point at) const;
  Item placed(std::size_t thing) const;
  void spread(std::vector<Run>& runs) const;

  const Picture& picture_;
  std::size_t nodes_;
  std::vector<Level> levels_;  // of each call, then the outermost
  std::vector<Place> places_;  // of each node, then of each call
  Point size_{0, 0};
};

}  // namespace pencil::inspect
