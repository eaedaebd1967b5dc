#include "autograd/inspect/graph.hpp"

#include <boost/concept/assert.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <boost/graph/reverse_graph.hpp>
#include <boost/graph/topological_sort.hpp>
#include <boost/property_map/property_map.hpp>
#include <boost/range/iterator_range.hpp>

#include "tests/catch.hpp"
#include "tests/inspect/support.hpp"

using namespace pencil;
using namespace pencil::tests;

BOOST_CONCEPT_ASSERT((boost::BidirectionalGraphConcept<TapeGraph>));
BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<TapeGraph>));
BOOST_CONCEPT_ASSERT((boost::EdgeListGraphConcept<TapeGraph>));
BOOST_CONCEPT_ASSERT((boost::ReadablePropertyGraphConcept<TapeGraph, int, boost::vertex_index_t>));
BOOST_CONCEPT_ASSERT((boost::ReadablePropertyGraphConcept<TapeGraph, int, StepWord>));
BOOST_CONCEPT_ASSERT((boost::ReadablePropertyGraphConcept<TapeGraph, int, StepRole>));
BOOST_CONCEPT_ASSERT((boost::ReadablePropertyGraphConcept<TapeGraph, int, StepName>));
BOOST_CONCEPT_ASSERT((boost::ReadablePropertyGraphConcept<TapeGraph, int, StepShape>));
BOOST_CONCEPT_ASSERT((boost::ReadablePropertyGraphConcept<TapeGraph, int, StepValue>));

namespace {

// Steps 0 w, 1 y = 2 w, 2 x, 3 z = y x, 4 q = z z, 5 = 2 x
struct Small {
  Tensor w = parameter(tensor({1, 2}), "w"), x = named(tensor({3, 4}), "x");
  Tape tape;
  Tensor y = twice(w);
  Tensor z, q, aside;

  Small() {
    const Role role("scores");
    z = times(y, x);
    q = times(z, z);
    aside = twice(x);
  }
};

template <class Range>
auto list(const Range& range) {
  return std::vector(range.first, range.second);
}

}  // namespace

TEST_CASE("a tape is a graph: an edge leads from a step to each of its inputs") {
  const Small small;
  const TapeGraph graph(small.tape);
  CHECK(num_vertices(graph) == 6);
  CHECK(num_edges(graph) == 6);
  CHECK(list(vertices(graph)) == std::vector{0, 1, 2, 3, 4, 5});
  CHECK(list(edges(graph)) == std::vector<Use>{{1, 0}, {3, 0}, {3, 1}, {4, 0}, {4, 1}, {5, 0}});
  CHECK(list(out_edges(3, graph)) == std::vector<Use>{{3, 0}, {3, 1}});
  CHECK(list(in_edges(2, graph)) == std::vector<Use>{{3, 1}, {5, 0}});
  CHECK(source(Use{3, 1}, graph) == 3);
  CHECK(target(Use{3, 1}, graph) == 2);
  CHECK(out_degree(4, graph) == 2);
  CHECK(in_degree(3, graph) == 2);
  CHECK(degree(3, graph) == 4);
  CHECK(list(out_edges(2, graph)).empty());
}

TEST_CASE("plain numbers are no vertices and make no edges") {
  const Tensor x = named(tensor({3, 4}), "x");
  Tape tape;
  const Tensor scaled = x * 2.0;
  const Tensor shifted = 1.0 + scaled;
  const TapeGraph graph(tape);
  CHECK(num_vertices(graph) == 3);
  CHECK(list(edges(graph)).size() == num_edges(graph));
  CHECK(target(list(out_edges(tape.step_of(shifted), graph)).at(0), graph) == tape.step_of(scaled));
}

TEST_CASE("the graph of a tape without steps") {
  const Tape tape;
  const TapeGraph graph(tape);
  CHECK(num_vertices(graph) == 0);
  CHECK(list(vertices(graph)).empty());
  CHECK(list(edges(graph)).empty());
}

TEST_CASE("property maps give word, role, name, shape and value, without a copy") {
  const Small small;
  const TapeGraph graph(small.tape);
  CHECK(get(step_word, graph)[3] == "times");
  CHECK(get(step_role, graph)[3] == "scores");
  CHECK(get(step_name, graph, 2) == "x");
  CHECK(get(step_shape, graph, 4) == Shape{2});
  CHECK(same(get(step_value, graph, 4), small.q));
  const auto inputs = get([](const Step& step) { return step.inputs(); }, graph);
  CHECK(inputs[4] == 2);
  CHECK(get(boost::vertex_index, graph, 4) == 4);
}

TEST_CASE("the value of a step that was freed throws") {
  const Tensor w = parameter(tensor({1, 2}), "w");
  Tape tape({.keep = Keep::leaves});
  const Tensor z = twice(twice(w));
  tape.backward(z, {.upstream = ones({2})});
  CHECK_THROWS_WITH(get(step_value, TapeGraph(tape), 1), Says("was freed"));
}

TEST_CASE("breadth first search finds what a step depends on") {
  const Small small;
  const TapeGraph graph(small.tape);
  std::vector<boost::default_color_type> colors(num_vertices(graph));
  boost::queue<int> queue;
  boost::breadth_first_visit(
      graph, small.tape.step_of(small.q), queue, boost::default_bfs_visitor(),
      boost::make_iterator_property_map(colors.begin(), get(boost::vertex_index, graph)));
  std::vector<int> found;
  for (const int step : boost::make_iterator_range(vertices(graph)))
    if (colors[static_cast<std::size_t>(step)] == boost::black_color) found.push_back(step);
  CHECK(found == std::vector{0, 1, 2, 3, 4});
}

TEST_CASE("the shortest path from a parameter leads up the reversed graph") {
  const Small small;
  const TapeGraph graph(small.tape);
  const int from = small.tape.step_of(small.w), to = small.tape.step_of(small.q);
  std::vector<int> before(num_vertices(graph)), far(num_vertices(graph));
  boost::dijkstra_shortest_paths(boost::make_reverse_graph(graph), from,
                                 boost::predecessor_map(before.data())
                                     .distance_map(far.data())
                                     .weight_map(boost::static_property_map<int>(1))
                                     .vertex_index_map(get(boost::vertex_index, graph)));
  CHECK(far[static_cast<std::size_t>(to)] == 3);
  std::vector<int> path{to};
  while (path.back() != from) path.push_back(before[static_cast<std::size_t>(path.back())]);
  CHECK(path == std::vector{4, 3, 1, 0});
}

TEST_CASE("a topological sort of a long tape, inputs first, is found without recursion") {
  Tape tape;
  Tensor x = parameter(tensor({1.0}), "x");
  for (int i = 0; i < 200000; ++i) x = twice(x);
  const TapeGraph graph(tape);
  std::vector<int> order;
  boost::topological_sort(graph, std::back_inserter(order));
  REQUIRE(order.size() == num_vertices(graph));
  CHECK(std::ranges::is_sorted(order));
}
