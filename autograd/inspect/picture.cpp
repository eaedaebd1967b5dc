#include "autograd/inspect/picture.hpp"

#include <boost/range/iterator_range.hpp>
#include <unordered_map>
#include <unordered_set>

#include "autograd/format.hpp"
#include "autograd/inspect/markup.hpp"

namespace pencil::inspect {

namespace {

constexpr std::size_t widest = 32;  // columns of a word or name on a node

// The plain numbers among a step's inputs: " with 0.5, 2".
void append_numbers(std::string& to, const Step& step) {
  int shown = 0;
  for (int i = 0; i < step.inputs(); ++i) {
    if (step.input_step(i) >= 0 || !step.raw_input(i).defined() || step.raw_input(i).size() != 1) continue;
    to += shown++ == 0 ? " with " : ", ";
    dispatch(step.raw_input(i).dtype(),
             [&]<class T>(T) { append_number(to, step.raw_input(i).values<T>()[0]); });
  }
}

}  // namespace

Picture::Picture(const TapeGraph& graph, int fold)
    : tape_(graph.tape()), outline_(graph.tape(), graph.uses()), fold_(fold) {
  if (fold < 0) fail("[picture] fold is {}; need a depth, or 0 to fold nothing", fold);
  // A folded call's node stands at its last step: all it was computed from was recorded before that.
  std::unordered_map<int, int> node_of_call;
  std::vector<int> node_of(num_vertices(graph));
  for (const int step : boost::make_iterator_range(vertices(graph))) {
    const int call = outline_.call_of(step), folded = folded_into(call);
    const int fresh = static_cast<int>(nodes_.size());
    node_of[static_cast<std::size_t>(step)] = fresh;
    if (folded < 0) {
      nodes_.push_back({step, -1, call});
    } else if (outline_.call(folded).last == step) {
      node_of_call[folded] = fresh;
      nodes_.push_back({outline_.call(folded).first, folded, outline_.call(folded).parent});
    }
  }
  for (const int step : boost::make_iterator_range(vertices(graph)))
    if (const int folded = folded_into(outline_.call_of(step)); folded >= 0)
      node_of[static_cast<std::size_t>(step)] = node_of_call[folded];

  std::unordered_set<std::uint64_t> seen;
  for (const Use& edge : boost::make_iterator_range(edges(graph))) {
    const Arrow arrow{node_of[static_cast<std::size_t>(source(edge, graph))],
                      node_of[static_cast<std::size_t>(target(edge, graph))]};
    if (arrow.reader == arrow.source) continue;
    const auto folded = [&](int node) { return nodes_[static_cast<std::size_t>(node)].folded >= 0; };
    const auto key =
        static_cast<std::uint64_t>(arrow.reader) << 32 | static_cast<std::uint64_t>(arrow.source);
    if ((folded(arrow.reader) || folded(arrow.source)) && !seen.insert(key).second) continue;
    arrows_.push_back(arrow);
  }
}

// The outermost call around that is one node, or −1.
int Picture::folded_into(int call) const {
  int folded = -1;
  for (; call >= 0 && !is_box(call); call = outline_.call(call).parent) folded = call;
  return folded;
}

std::string Picture::title(int number) const {
  const Call& call = outline_.call(number);
  std::string text = shortened(call.name(), widest);
  if (call.turns > 1) text += fmt::format(", call {} of {}", call.turn, call.turns);
  return text;
}

std::string id_of(const Call& call) { return fmt::format("module{}_{}", call.first, call.depth); }

std::string Picture::id(const Node& node) const {
  return node.folded < 0 ? fmt::format("step{}", node.step) : id_of(outline_.call(node.folded));
}

Label Picture::label(const Node& node, Glossary glossary) const {
  if (node.folded >= 0) {
    const int steps = outline_.call(node.folded).steps;
    return {.word = title(node.folded),
            .name = "",
            .shape = fmt::format("{} step{}", steps, steps == 1 ? "" : "s"),
            .kind = "module"};
  }
  return label_of(tape_.step(node.step), glossary);
}

Label label_of(const Step& step, Glossary glossary) {
  Label label{.word = shortened(word_of(step, glossary), widest),
              .name = shortened(step.name(), widest),
              .shape = "",
              .kind = "op"};
  if (step.kind() != StepKind::scalars || step.raw_output().defined()) label.shape = to_string(step.shape());
  append_numbers(label.shape, step);
  if (step.kind() == StepKind::parameter)
    label.kind = "parameter";
  else if (step.kind() == StepKind::constant || step.kind() == StepKind::foreign)
    label.kind = "constant";
  else if (step.kind() == StepKind::paused || (step.kind() == StepKind::op && !step.op().differentiable()))
    label.kind = "mark";
  return label;
}

}  // namespace pencil::inspect
