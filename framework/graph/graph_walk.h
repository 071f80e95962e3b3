#pragma once

#include <memory>
#include <vector>

#include "framework/graph/node.h"

namespace qkv {

// A node and every node that it depends on, users before what they use. Throws Error where a walk
// of another thread is on one: leaves apart, a graph belongs to one thread.
std::vector<std::shared_ptr<Node>> nodes_behind(const std::shared_ptr<Node>& node);

// The same, for a walk that may release them.
class GraphWalk {
 public:
  explicit GraphWalk(const std::shared_ptr<Node>& node);
  ~GraphWalk();
  GraphWalk(const GraphWalk&) = delete;
  GraphWalk& operator=(const GraphWalk&) = delete;

  std::vector<std::shared_ptr<Node>>& nodes() { return nodes_; }
  void leave(std::shared_ptr<Node>& node) const;  // and releases it
  static void require_own(const Node& node);

 private:
  const GraphWalk* outer_;  // of this thread
  std::vector<std::shared_ptr<Node>> nodes_;
};

}  // namespace qkv
