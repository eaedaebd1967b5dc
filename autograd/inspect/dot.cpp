#include "autograd/inspect/dot.hpp"

#include <fmt/format.h>

// This header takes 10 s and 600 MB to compile; no other file includes it.
#include <boost/graph/graphviz.hpp>
#include <boost/iterator/counting_iterator.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <locale>
#include <sstream>

#include "autograd/inspect/graph.hpp"
#include "autograd/inspect/markup.hpp"
#include "autograd/inspect/picture.hpp"

namespace pencil {

namespace inspect {

// A picture as Boost's writer wants it: the graph of the tape (graph.hpp), folded. Edges lead from a reader
// to its source.
struct PictureGraph {
  using vertex_descriptor = int;
  using edge_descriptor = Arrow;
  using vertex_iterator = boost::counting_iterator<int>;
  using edge_iterator = std::vector<Arrow>::const_iterator;
  using vertices_size_type = std::size_t;
  using edges_size_type = std::size_t;
  using directed_category = boost::directed_tag;
  using edge_parallel_category = boost::allow_parallel_edge_tag;
  struct traversal_category : boost::vertex_list_graph_tag, boost::edge_list_graph_tag {};

  const Picture& picture;
};

static auto vertices(const PictureGraph& g) {
  using Iterator = PictureGraph::vertex_iterator;
  return std::pair(Iterator(0), Iterator(static_cast<int>(g.picture.nodes().size())));
}
[[maybe_unused]] static std::size_t num_vertices(const PictureGraph& g) { return g.picture.nodes().size(); }
static auto edges(const PictureGraph& g) {
  return std::pair(g.picture.arrows().begin(), g.picture.arrows().end());
}
[[maybe_unused]] static std::size_t num_edges(const PictureGraph& g) { return g.picture.arrows().size(); }
static int source(const Arrow& arrow, const PictureGraph&) { return arrow.reader; }
static int target(const Arrow& arrow, const PictureGraph&) { return arrow.source; }

}  // namespace inspect

namespace {

using inspect::append_dot;
using inspect::Arrow;
using inspect::Call;
using inspect::Label;
using inspect::Node;
using inspect::Picture;

std::string_view look_of(const std::string& kind) {
  if (kind == "parameter") return ", fillcolor=\"#fdf0d5\", color=\"#b98a2f\"";
  if (kind == "constant") return ", fillcolor=\"#eef1f4\", color=\"#8a949e\"";
  if (kind == "mark") return ", style=\"filled,rounded,dashed\"";
  if (kind == "module") return ", shape=box3d, style=filled, fillcolor=\"#e3ecf7\"";
  return "";
}

std::string attributes_of(const Picture& picture, const Node& node, Glossary glossary) {
  const Label label = picture.label(node, glossary);
  std::string text = "[label=\"";
  append_dot(text, label.word);
  for (const std::string* line : {&label.name, &label.shape}) {
    if (line->empty()) continue;
    text += "\\n";
    append_dot(text, *line);
  }
  text += '"';
  text += look_of(label.kind);
  return text + "]";
}

// What stands before the nodes: how all of them look, and the clusters with what lies in each. Calls come
// each after the one around it and before the next beside it, so one pass opens and closes them.
class Head {
 public:
  explicit Head(const Picture& picture) : picture_(picture), nodes_in_(picture.outline().calls().size()) {
    for (const Node& node : picture.nodes())
      if (node.inside >= 0) nodes_in_[static_cast<std::size_t>(node.inside)].push_back(&node);
  }

  std::string text() {
    text_ =
        "graph [rankdir=BT, style=rounded, color=\"#b6c2ce\", labelloc=b, fontname=\"sans-serif\"];\n"
        "node [shape=box, style=\"filled,rounded\", fillcolor=\"#ffffff\", color=\"#5a6b7b\", "
        "fontname=\"sans-serif\"];\n"
        "edge [dir=back, color=\"#5a6b7b\"];\n";
    for (std::size_t i = 0; i < nodes_in_.size(); ++i)
      if (picture_.is_box(static_cast<int>(i))) open(static_cast<int>(i));
    close_to(-1);
    return std::move(text_);
  }

 private:
  void open(int number) {
    const Call& call = picture_.outline().call(number);
    close_to(call.parent);
    open_ = number;
    text_ += fmt::format("subgraph cluster{}_{} {{\nlabel=\"", call.first, call.depth);
    append_dot(text_, picture_.title(number));
    text_ += "\";\n";
    for (const Node* node : nodes_in_[static_cast<std::size_t>(number)]) text_ += picture_.id(*node) + ";\n";
  }
  void close_to(int outer) {
    for (; open_ != outer; open_ = picture_.outline().call(open_).parent) text_ += "}\n";
  }

  const Picture& picture_;
  std::vector<std::vector<const Node*>> nodes_in_;
  int open_ = -1;  // the innermost call that is open
  std::string text_;
};

}  // namespace

std::string dot(const Tape& tape, const DotOptions& options) {
  const Picture picture(TapeGraph(tape), options.fold);
  const auto node = [&](int i) -> const Node& { return picture.nodes()[static_cast<std::size_t>(i)]; };
  std::ostringstream out;
  out.imbue(std::locale::classic());
  boost::write_graphviz(
      out, inspect::PictureGraph{picture},
      [&](std::ostream& to, int i) { to << attributes_of(picture, node(i), options.glossary); },
      [](std::ostream&, const Arrow&) {}, [&](std::ostream& to) { to << Head(picture).text(); },
      boost::make_function_property_map<int>([&](int i) { return picture.id(node(i)); }));
  return std::move(out).str();
}

void dot(std::FILE* file, const Tape& tape, const DotOptions& options) {
  const std::string text = dot(tape, options);
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size())
    fail("[dot] the file could not be written");
}

}  // namespace pencil
