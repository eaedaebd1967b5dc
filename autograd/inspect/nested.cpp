#include "autograd/inspect/nested.hpp"

#include <algorithm>
#include <cmath>

namespace pencil::inspect {

Nested::Nested(const Picture& picture, std::span<const Item> nodes, std::span<const double> titles)
    : picture_(picture), nodes_(nodes.size()) {
  const std::size_t calls = picture.outline().calls().size();
  levels_.resize(calls + 1);
  sort_into_levels(nodes);
  for (const Arrow& arrow : picture.arrows()) link(arrow);
  for (std::size_t c = calls; c-- > 0;)
    if (picture.is_box(static_cast<int>(c))) lay_out_box(c, titles[c]);
  size_ = lay_out_level(calls);
  for (std::size_t c = 0; c < calls; ++c) {
    if (!picture.is_box(static_cast<int>(c))) continue;
    const Item around = box(static_cast<int>(c));
    levels_[c].origin = {around.x - around.width / 2 + levels_[c].inset,
                         around.y - around.height / 2 + padding + title_height};
  }
}

// A call stands where its last node does, so that every item stands behind those it was computed from.
void Nested::sort_into_levels(std::span<const Item> nodes) {
  places_.resize(nodes_ + levels_.size() - 1);
  const auto put = [&](std::size_t thing, const Item& item, int inside) {
    std::vector<Item>& items = levels_[level_of(inside)].items;
    places_[thing] = {level_of(inside), items.size()};
    items.push_back(item);
  };
  std::vector<std::size_t> last(levels_.size());
  const auto for_calls_around = [&](std::size_t node, auto f) {
    for (int c = picture_.nodes()[node].inside; c >= 0; c = call(c).parent) f(static_cast<std::size_t>(c));
  };
  for (std::size_t i = 0; i < nodes_; ++i) for_calls_around(i, [&](std::size_t c) { last[c] = i; });
  for (std::size_t i = 0; i < nodes_; ++i) {
    put(i, nodes[i], picture_.nodes()[i].inside);
    for_calls_around(i, [&](std::size_t c) {
      if (last[c] == i) put(nodes_ + c, {0, 0}, call(static_cast<int>(c)).parent);
    });
  }
}

// In the innermost drawing that holds both its ends an arrow is a link between the items that hold them. From
// there it goes on into the boxes around its reader, from port to port.
void Nested::link(const Arrow& arrow) {
  auto from = static_cast<std::size_t>(arrow.source);
  int a = picture_.nodes()[from].inside, b = picture_.nodes()[static_cast<std::size_t>(arrow.reader)].inside;
  const auto depth = [&](int c) { return c < 0 ? 0 : call(c).depth; };
  std::vector<int> boxes;  // around the reader and not the source, innermost first
  while (a != b) {
    if (depth(a) >= depth(b)) {
      from = nodes_ + static_cast<std::size_t>(a);
      a = call(a).parent;
    } else {
      boxes.push_back(b);
      b = call(b).parent;
    }
  }
  std::size_t level = level_of(a), item = places_[from].item;
  for (; !boxes.empty(); boxes.pop_back()) {
    const std::size_t box = level_of(boxes.back());
    Level& inside = levels_[box];
    const auto [port, is_new] = inside.ports.try_emplace(arrow.source, inside.items.size());
    if (is_new) {
      inside.items.push_back({8, 0, 0, 0, true});
      const std::size_t to = places_[nodes_ + box].item;
      levels_[level].links.push_back({static_cast<int>(item), static_cast<int>(to)});
      levels_[level].ends.push_back({arrow.source, -1, box});
    }
    level = box;
    item = port->second;
  }
  const std::size_t to = places_[static_cast<std::size_t>(arrow.reader)].item;
  levels_[level].links.push_back({static_cast<int>(item), static_cast<int>(to)});
  levels_[level].ends.push_back({arrow.source, arrow.reader, level});
}

void Nested::lay_out_box(std::size_t c, double title) {
  const Point inside = lay_out_level(c);
  const double width = 2 * std::ceil(std::max(inside.x, title) / 2) + 2 * padding;
  levels_[c].inset = (width - inside.x) / 2;
  Item& item = levels_[places_[nodes_ + c].level].items[places_[nodes_ + c].item];
  item.width = width;
  item.height = inside.y + 2 * padding + title_height;
}

Point Nested::lay_out_level(std::size_t number) {
  Level& level = levels_[number];
  for (std::size_t k = 0; k < level.links.size(); ++k) {
    const End& end = level.ends[k];
    Link& link = level.links[k];
    if (!level.items[static_cast<std::size_t>(link.from)].port)
      link.from_dx = beside_centre(end.source, number);
    if (end.reader >= 0) continue;
    const Level& inside = levels_[end.level];
    link.to_dx = inside.items[inside.ports.at(end.source)].x + inside.inset -
                 level.items[static_cast<std::size_t>(link.to)].width / 2;
  }
  return lay_out(level.items, level.links);
}

// How far a node stands to the right of the centre of the item that holds it in a level.
double Nested::beside_centre(int node, std::size_t level) const {
  double dx = 0;
  for (auto thing = static_cast<std::size_t>(node); places_[thing].level != level;) {
    const std::size_t inner = places_[thing].level;
    const Place box = places_[nodes_ + inner];
    dx += levels_[inner].items[places_[thing].item].x + levels_[inner].inset -
          levels_[box.level].items[box.item].width / 2;
    thing = nodes_ + inner;
  }
  return dx;
}

Point Nested::absolute(std::size_t level, Point at) const {
  return {at.x + levels_[level].origin.x, at.y + levels_[level].origin.y};
}

Item Nested::placed(std::size_t thing) const {
  const auto [level, item] = places_[thing];
  Item found = levels_[level].items[item];
  const Point at = absolute(level, {found.x, found.y});
  found.x = at.x;
  found.y = at.y;
  return found;
}

std::vector<Run> Nested::runs() const {
  std::vector<Run> runs;
  for (std::size_t n = 0; n < levels_.size(); ++n) {
    const Level& level = levels_[n];
    for (std::size_t k = 0; k < level.links.size(); ++k) {
      const Link& link = level.links[k];
      const End& end = level.ends[k];
      const Item& from = level.items[static_cast<std::size_t>(link.from)];
      const Item source = node(end.source);
      Run run{{}, end.reader};
      run.way.push_back(from.port ? absolute(n, {from.x, from.y})
                                  : Point{source.x, source.y + source.height / 2});
      for (const Point& bend : link.bends) run.way.push_back(absolute(n, bend));
      if (end.reader >= 0) {
        const Item reader = node(end.reader);
        run.way.push_back({reader.x, reader.y - reader.height / 2});
      } else {
        const Item& port = levels_[end.level].items[levels_[end.level].ports.at(end.source)];
        run.way.push_back(absolute(end.level, {port.x, port.y}));
      }
      runs.push_back(std::move(run));
    }
  }
  spread(runs);
  return runs;
}

// Runs that arrive at one node do so side by side, in the order in which they come from left to right.
void Nested::spread(std::vector<Run>& runs) const {
  std::vector<std::vector<Run*>> arriving(nodes_);
  for (Run& run : runs)
    if (run.reader >= 0) arriving[static_cast<std::size_t>(run.reader)].push_back(&run);
  for (std::vector<Run*>& at : arriving) {
    std::ranges::stable_sort(at, {}, [](const Run* run) { return run->way[run->way.size() - 2].x; });
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double gaps = static_cast<double>(at.size());
      const double step = std::min(14.0, std::floor(node(at[i]->reader).width / (gaps + 1)));
      at[i]->way.back().x += step * (static_cast<double>(i) - (gaps - 1) / 2);
    }
  }
}

}  // namespace pencil::inspect
