#include "autograd/inspect/layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace pencil::inspect {

namespace {

constexpr double gap_across = 22, gap_down = 34;
constexpr double gap_below_ports = 20;
constexpr double lane = 8;        // the width of a link that passes a layer
constexpr int longest_lane = 40;  // links across more layers pass behind the others, straight
constexpr int sweeps = 4;

// Sizes are even and places whole numbers, so that sums are exact and come out alike on every machine.

// A link as it counts in the layers: between items, or places that a link passes.
struct Tie {
  std::size_t other;
  double dx;      // from this one's centre to the other's, if the link is to run straight down
  double weight;  // how much straightness counts
};

class Layers {
 public:
  Layers(std::vector<Item>& items, std::vector<Link>& links)
      : items_(items), links_(links), real_(items.size()) {
    choose_layers();
    lay_lanes();
    collect();
  }

  Point place() {
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      for (std::size_t i = 1; i < rows_.size(); ++i) sort(rows_[i], above_);
      for (std::size_t i = rows_.size() - 1; i-- > 0;) sort(rows_[i], below_);
    }
    for (auto& row : rows_) stand_side_by_side(row);
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      for (std::size_t i = 1; i < rows_.size(); ++i) straighten(rows_[i], above_);
      for (std::size_t i = rows_.size() - 1; i-- > 0;) straighten(rows_[i], below_);
    }
    return finish();
  }

 private:
  // As late as the longest path to the end allows; what leads nowhere as early as it can.
  void choose_layers() {
    layer_.assign(real_, 0);
    std::vector<std::vector<std::size_t>> to(real_), from(real_);
    for (const Link& link : links_) {
      to[static_cast<std::size_t>(link.from)].push_back(static_cast<std::size_t>(link.to));
      from[static_cast<std::size_t>(link.to)].push_back(static_cast<std::size_t>(link.from));
    }
    for (std::size_t i = 0; i < real_; ++i)
      for (const std::size_t source : from[i]) layer_[i] = std::max(layer_[i], layer_[source] + 1);
    for (std::size_t i = real_; i-- > 0;) {
      int latest = std::numeric_limits<int>::max();
      for (const std::size_t reader : to[i]) latest = std::min(latest, layer_[reader] - 1);
      if (!to[i].empty() && !items_[i].port) layer_[i] = latest;
    }
  }

  // A link across several layers gets a narrow place in each of those between.
  void lay_lanes() {
    above_.resize(real_);
    below_.resize(real_);
    lane_of_.assign(links_.size(), {});
    for (std::size_t k = 0; k < links_.size(); ++k) {
      const Link& link = links_[k];
      const auto from = static_cast<std::size_t>(link.from), to = static_cast<std::size_t>(link.to);
      const int span = layer_[to] - layer_[from];
      if (span > longest_lane) continue;
      std::size_t before = from;
      double dx = link.from_dx;
      for (int layer = layer_[from] + 1; layer < layer_[to]; ++layer) {
        const std::size_t place = items_.size();
        items_.push_back({lane, 0});
        layer_.push_back(layer);
        above_.emplace_back();
        below_.emplace_back();
        lane_of_[k].push_back(place);
        tie(before, place, dx, 4);
        before = place;
        dx = 0;
      }
      tie(before, to, dx - link.to_dx, span > 1 ? 4 : 1);
    }
  }

  void tie(std::size_t from, std::size_t to, double dx, double weight) {
    below_[from].push_back({to, -dx, weight});
    above_[to].push_back({from, dx, weight});
  }

  void collect() {
    rows_.resize(static_cast<std::size_t>(*std::ranges::max_element(layer_)) + 1);
    for (std::size_t i = 0; i < items_.size(); ++i) rows_[static_cast<std::size_t>(layer_[i])].push_back(i);
    for (const auto& row : rows_) number(row);
  }

  void number(const std::vector<std::size_t>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) items_[row[i]].x = static_cast<double>(i);
  }

  // Orders a row by the mean place of what each is tied to; what is tied to nothing stays.
  void sort(std::vector<std::size_t>& row, const std::vector<std::vector<Tie>>& ties) {
    std::vector<std::pair<double, std::size_t>> keyed;
    for (const std::size_t i : row) {
      double sum = 0;
      for (const Tie& t : ties[i]) sum += items_[t.other].x + t.dx / 1024;
      keyed.emplace_back(ties[i].empty() ? items_[i].x : sum / static_cast<double>(ties[i].size()), i);
    }
    std::ranges::stable_sort(keyed, {}, &std::pair<double, std::size_t>::first);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = keyed[i].second;
    number(row);
  }

  double distance(std::size_t left, std::size_t right) const {
    return (items_[left].width + items_[right].width) / 2 + gap_across;
  }

  void stand_side_by_side(const std::vector<std::size_t>& row) {
    double x = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) x += distance(row[i - 1], row[i]);
      items_[row[i]].x = x;
    }
    for (const std::size_t i : row) items_[i].x -= x / 2;
  }

  // Moves a row's items as near as their order allows, in least squares, to where their ties would be
  // straight: where wishes collide, the items form a block that stands at their mean (pool adjacent
  // violators).
  void straighten(const std::vector<std::size_t>& row, const std::vector<std::vector<Tie>>& ties) {
    struct Block {
      double sum, weight;
      std::size_t items;
      double place() const { return sum / weight; }
    };
    std::vector<Block> blocks;
    std::vector<double> offset(row.size(), 0);  // of each item, if all stood as close as they may
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) offset[i] = offset[i - 1] + distance(row[i - 1], row[i]);
      double sum = 0, weight = 0;
      for (const Tie& t : ties[row[i]]) {
        sum += t.weight * (items_[t.other].x + t.dx);
        weight += t.weight;
      }
      if (weight == 0) {
        weight = 1.0 / 1024;
        sum = weight * items_[row[i]].x;
      }
      blocks.push_back({sum - weight * offset[i], weight, 1});
      while (blocks.size() > 1 && blocks[blocks.size() - 2].place() > blocks.back().place()) {
        const Block last = blocks.back();
        blocks.pop_back();
        blocks.back() = {blocks.back().sum + last.sum, blocks.back().weight + last.weight,
                         blocks.back().items + last.items};
      }
    }
    std::size_t i = 0;
    for (const Block& block : blocks)
      for (std::size_t k = 0; k < block.items; ++k, ++i)
        items_[row[i]].x = std::round(block.place()) + offset[i];
  }

  Point finish() {
    double left = std::numeric_limits<double>::infinity(), right = -left, y = 0, gap = 0;
    std::vector<double> height(rows_.size(), 0);
    for (std::size_t k = 0; k < rows_.size(); ++k) {
      for (const std::size_t i : rows_[k]) {
        height[k] = std::max(height[k], items_[i].height);
        left = std::min(left, items_[i].x - items_[i].width / 2);
        right = std::max(right, items_[i].x + items_[i].width / 2);
      }
      for (const std::size_t i : rows_[k]) items_[i].y = items_[i].port ? y : y + height[k] / 2;
      gap = height[k] > 0 ? gap_down : gap_below_ports;
      y += height[k] + gap;
    }
    for (Item& item : items_) item.x -= left;
    for (std::size_t k = 0; k < links_.size(); ++k) {
      const Item& from = items_[static_cast<std::size_t>(links_[k].from)];
      if (from.port) links_[k].bends.push_back({from.x, height[0]});
      for (const std::size_t place : lane_of_[k]) {
        const double half = height[static_cast<std::size_t>(layer_[place])] / 2;
        links_[k].bends.push_back({items_[place].x, items_[place].y - half});
        links_[k].bends.push_back({items_[place].x, items_[place].y + half});
      }
    }
    items_.resize(real_, {0, 0});
    return {right - left, y - gap};
  }

  std::vector<Item>& items_;  // the real ones, then the lanes'
  std::vector<Link>& links_;
  std::size_t real_;
  std::vector<int> layer_;
  std::vector<std::vector<std::size_t>> rows_, lane_of_;
  std::vector<std::vector<Tie>> above_, below_;
};

}  // namespace

Point lay_out(std::vector<Item>& items, std::vector<Link>& links) {
  return items.empty() ? Point{0, 0} : Layers(items, links).place();
}

}  // namespace pencil::inspect
