#pragma once

// A tape as a graph of Boost.Graph. Not in autograd.hpp: it is for those who bring Boost.Graph's algorithms.

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/counting_iterator.hpp>
#include <boost/iterator/iterator_facade.hpp>
#include <boost/property_map/property_map.hpp>
#include <cstddef>
#include <span>
#include <utility>

#include "autograd/inspect/uses.hpp"
#include "autograd/tape.hpp"

namespace pencil {

/// The steps of a range that read another step, one by one: iterates over edges. An input that is a plain
/// number is no edge.
class EdgeIterator : public boost::iterator_facade<EdgeIterator, Use, boost::forward_traversal_tag, Use> {
 public:
  EdgeIterator() = default;
  /// From the first edge of step `step` on, ending before the edges of step `end`.
  EdgeIterator(const Tape& tape, int step, int end) : tape_(&tape), end_(end), at_{step, 0} { settle(); }

 private:
  friend class boost::iterator_core_access;
  Use dereference() const { return at_; }
  bool equal(const EdgeIterator& other) const { return at_ == other.at_; }
  void increment() {
    ++at_.input;
    settle();
  }
  // Moves on to the next edge, unless there is one here.
  void settle() {
    for (; at_.step < end_; at_ = {at_.step + 1, 0}) {
      const Step step = tape_->step(at_.step);
      for (; at_.input < step.inputs(); ++at_.input)
        if (step.input_step(at_.input) >= 0) return;
    }
  }

  const Tape* tape_ = nullptr;
  int end_ = 0;
  Use at_{0, 0};
};

/// A view of a tape that models Boost.Graph's BidirectionalGraph, VertexListGraph and EdgeListGraph, so that
/// its algorithms run on it. Nothing is copied: vertices are the numbers of steps, and an edge is a Use. It
/// leads from a step to one of its inputs; x * x has two edges to x. The index of in-edges is built once, in
/// linear time. The view knows the steps there were when it was made, and is valid while the tape lives.
class TapeGraph {
 public:
  using vertex_descriptor = int;
  using edge_descriptor = Use;
  using vertex_iterator = boost::counting_iterator<int>;
  using edge_iterator = EdgeIterator;
  using out_edge_iterator = EdgeIterator;
  using in_edge_iterator = std::span<const Use>::iterator;
  using vertices_size_type = std::size_t;
  using edges_size_type = std::size_t;
  using degree_size_type = std::size_t;
  using directed_category = boost::bidirectional_tag;
  using edge_parallel_category = boost::allow_parallel_edge_tag;
  struct traversal_category : boost::bidirectional_graph_tag,
                              boost::vertex_list_graph_tag,
                              boost::edge_list_graph_tag {};
  static vertex_descriptor null_vertex() { return -1; }

  explicit TapeGraph(const Tape& tape) : tape_(&tape), uses_(tape) {}

  const Tape& tape() const { return *tape_; }
  const Uses& uses() const { return uses_; }

 private:
  const Tape* tape_;
  Uses uses_;
};

inline std::pair<TapeGraph::vertex_iterator, TapeGraph::vertex_iterator> vertices(const TapeGraph& g) {
  return {TapeGraph::vertex_iterator(0), TapeGraph::vertex_iterator(g.uses().steps())};
}
inline std::size_t num_vertices(const TapeGraph& g) { return static_cast<std::size_t>(g.uses().steps()); }

inline std::pair<EdgeIterator, EdgeIterator> edges(const TapeGraph& g) {
  const int end = g.uses().steps();
  return {{g.tape(), 0, end}, {g.tape(), end, end}};
}
inline std::size_t num_edges(const TapeGraph& g) { return g.uses().size(); }

inline int source(const Use& edge, const TapeGraph&) { return edge.step; }
inline int target(const Use& edge, const TapeGraph& g) {
  return g.tape().step(edge.step).input_step(edge.input);
}

inline std::pair<EdgeIterator, EdgeIterator> out_edges(int step, const TapeGraph& g) {
  return {{g.tape(), step, step + 1}, {g.tape(), step + 1, step + 1}};
}
inline std::size_t out_degree(int step, const TapeGraph& g) {
  const auto [first, last] = out_edges(step, g);
  return static_cast<std::size_t>(std::distance(first, last));
}

inline std::pair<TapeGraph::in_edge_iterator, TapeGraph::in_edge_iterator> in_edges(int step,
                                                                                    const TapeGraph& g) {
  const auto found = g.uses().of(step);
  return {found.begin(), found.end()};
}
inline std::size_t in_degree(int step, const TapeGraph& g) { return g.uses().of(step).size(); }
inline std::size_t degree(int step, const TapeGraph& g) { return out_degree(step, g) + in_degree(step, g); }

/// A readable property map: a function of a Step, read at a vertex.
template <class F>
class StepMap {
 public:
  using key_type = int;
  using value_type = std::decay_t<std::invoke_result_t<const F&, const Step&>>;
  using reference = std::invoke_result_t<const F&, const Step&>;
  using category = boost::readable_property_map_tag;

  StepMap(const Tape& tape, F read) : tape_(&tape), read_(std::move(read)) {}
  reference operator[](int step) const { return read_(tape_->step(step)); }
  friend reference get(const StepMap& map, int step) { return map[step]; }

 private:
  const Tape* tape_;
  F read_;
};

// What a step says of itself: get(step_word, graph) is a property map, get(step_word, graph, 3) the word of
// step 3. Any other function of a Step does as well.
inline constexpr struct StepWord {
  std::string_view operator()(const Step& step) const { return step.word(); }
} step_word;
inline constexpr struct StepRole {
  std::string_view operator()(const Step& step) const { return step.role(); }
} step_role;
inline constexpr struct StepName {
  std::string_view operator()(const Step& step) const { return step.name(); }
} step_name;
inline constexpr struct StepShape {
  const Shape& operator()(const Step& step) const { return step.shape(); }
} step_shape;
/// The tensor itself; throws Error where it was freed, or not kept.
inline constexpr struct StepValue {
  const Tensor& operator()(const Step& step) const { return step.output(); }
} step_value;

template <class F>
requires std::is_invocable_v<const F&, const Step&> StepMap<F> get(F read, const TapeGraph& g) {
  return {g.tape(), std::move(read)};
}
template <class F>
requires std::is_invocable_v<const F&, const Step&>
decltype(auto) get(const F& read, const TapeGraph& g, int step) { return read(g.tape().step(step)); }

/// Steps are numbered from 0 without gaps, so a step is its own index.
inline boost::typed_identity_property_map<int> get(boost::vertex_index_t, const TapeGraph&) { return {}; }
inline int get(boost::vertex_index_t, const TapeGraph&, int step) { return step; }

}  // namespace pencil

namespace boost {

template <>
struct property_map<pencil::TapeGraph, vertex_index_t> {
  using type = typed_identity_property_map<int>;
  using const_type = type;
};
template <class F>
struct property_map<pencil::TapeGraph, F> {
  using type = pencil::StepMap<F>;
  using const_type = type;
};

}  // namespace boost
