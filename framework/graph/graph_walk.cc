#include "framework/graph/graph_walk.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "framework/core/engine_state.h"
#include "framework/core/error.h"

namespace qkv {

std::vector<std::shared_ptr<Node>> nodes_behind(const std::shared_ptr<Node>& node) {
  std::vector<std::shared_ptr<Node>> nodes = {node};
  std::unordered_set<const Node*> seen = {node.get()};
  for (size_t i = 0; i < nodes.size(); ++i) {
    GraphWalk::require_own(*nodes[i]);
    for (const Tensor& x : nodes[i]->inputs()) {
      if (x.node() && seen.insert(x.node().get()).second) nodes.push_back(x.node());
    }
  }
  std::ranges::sort(nodes, std::greater(), [](const auto& each) { return each->id(); });
  return nodes;
}

GraphWalk::GraphWalk(const std::shared_ptr<Node>& node) {
  static std::mutex one_begins;
  const std::lock_guard lock(one_begins);
  nodes_ = nodes_behind(node);
  for (const std::shared_ptr<Node>& each : nodes_) {
    if (!each->is_leaf() && !each->walk_) each->walk_ = this;
  }
  outer_ = std::exchange(engine_state().walk, this);
}

GraphWalk::~GraphWalk() {
  engine_state().walk = outer_;
  for (std::shared_ptr<Node>& node : nodes_) leave(node);
}

void GraphWalk::leave(std::shared_ptr<Node>& node) const {
  if (node && node->walk_ == this) node->walk_ = nullptr;
  node.reset();
}

void GraphWalk::require_own(const Node& node) {
  const GraphWalk* const walk = node.walk_;
  const GraphWalk* own = engine_state().walk;
  while (own && own != walk) own = own->outer_;
  if (walk == own) return;
  fail("backward: another thread differentiates this graph; a graph belongs to one thread");
}

}  // namespace qkv
