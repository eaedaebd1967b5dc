#pragma once

// What a picture of a tape shows: nodes, arrows, and boxes around them. dot and svg draw it.

#include <string>
#include <vector>

#include "autograd/inspect/glossary.hpp"
#include "autograd/inspect/graph.hpp"
#include "autograd/inspect/outline.hpp"

namespace pencil::inspect {

/// A step, or a whole call of a module folded into one node.
struct Node {
  int step;         // the step, or the first of the folded call
  int folded = -1;  // the call it stands for
  int inside = -1;  // the call whose box it lies in
};

/// An edge of the tape's graph, from node to node: `reader` was computed from `source`.
struct Arrow {
  int reader;
  int source;
  friend bool operator==(const Arrow&, const Arrow&) = default;
};

/// The text on a node, plain (markup.hpp), and what kind of node it is.
struct Label {
  std::string word;   // the glossary's: "WANT"
  std::string name;   // "sheet"; of a folded call its path
  std::string shape;  // "(2, 4) with 0.5" where a plain number is an input too; of a folded call "12 steps"
  std::string kind;   // "op", "parameter", "constant" (foreign ones too), "mark" (the chain ends) or "module"
};

std::string id_of(const Call& call);
Label label_of(const Step& step, Glossary glossary);

class Picture {
 public:
  /// Modules of depth `fold` are one node each; with 0 nothing is folded. Throws Error for a negative one.
  /// Linear in the tape.
  Picture(const TapeGraph& graph, int fold);

  const Outline& outline() const { return outline_; }
  /// In the order of the tape: a node's sources stand before it.
  const std::vector<Node>& nodes() const { return nodes_; }
  /// In the order of the tape. Between two steps one for each use; to or from a folded call one in all.
  const std::vector<Arrow>& arrows() const { return arrows_; }
  /// Whether a call is drawn as a box.
  bool is_box(int call) const { return fold_ == 0 || outline_.call(call).depth < fold_; }

  Label label(const Node& node, Glossary glossary) const;
  /// "step12"; of a folded call "module12_1", where 12 is the step it begins with and 1 its depth.
  std::string id(const Node& node) const;
  /// "query", or "cell, call 2 of 12".
  std::string title(int call) const;

 private:
  int folded_into(int call) const;

  const Tape& tape_;
  Outline outline_;
  int fold_;
  std::vector<Node> nodes_;
  std::vector<Arrow> arrows_;
};

}  // namespace pencil::inspect
