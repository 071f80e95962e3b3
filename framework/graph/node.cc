#include "framework/graph/node.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/core/engine_state.h"
#include "framework/core/error.h"
#include "framework/graph/middleware.h"

namespace qkv {
namespace {

uint64_t next_id() {
  static std::atomic<uint64_t> next{0};
  return next++;
}

// Nodes whose last holder goes away while another node is being destroyed wait in `orphans`, which
// the outermost destructor empties, so that destruction never recurses.
void let_go(std::vector<Tensor>& inputs) {
  std::vector<Tensor>*& orphans = engine_state().orphans;
  if (orphans) {
    try {
      for (Tensor& x : inputs) orphans->push_back(std::move(x));
    } catch (const std::bad_alloc&) {  // nowhere to wait: the rest goes now, on the stack
    }
    inputs.clear();
    return;
  }
  std::vector<Tensor> queue = std::move(inputs);
  inputs.clear();
  orphans = &queue;
  while (!queue.empty()) {
    const Tensor last = std::move(queue.back());
    queue.pop_back();
  }  // destroying `last` may push its node's inputs
  orphans = nullptr;
}

}  // namespace

Node::Node() : id_(next_id()) {}

Node::Node(std::shared_ptr<Op> op, std::vector<Tensor> inputs, const Array& output)
    : id_(next_id()), op_(std::move(op)), inputs_(std::move(inputs)), scope_(Scope::current()) {
  const Saves saves = op_->saves();
  const bool saves_inputs = saves == Saves::kInputs || saves == Saves::kInputsAndOutput;
  const bool saves_output = saves == Saves::kOutput || saves == Saves::kInputsAndOutput;
  output_ = saves_output ? output : output.without_storage();
  output_version_ = output.storage().version();
  versions_.reserve(inputs_.size());
  for (Tensor& x : inputs_) {
    versions_.push_back(x.array().storage().version());
    if (!saves_inputs) x = Tensor(x.array().without_storage(), x.node());
  }
}

Node::~Node() { let_go(inputs_); }

void Node::release() {
  released_ = true;
  op_.reset();
  output_ = Array();
  let_go(inputs_);
}

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

const Tensor& Saved::input(size_t i) const {
  const Tensor& x = node_->inputs_[i];
  const Storage& storage = x.array().storage();
  if (!storage) {
    fail(absl::StrCat(std::string(node_->op_->name()), ": backward reads input ", i,
                      ", which its saves() does not keep"));
  }
  if (storage.version() != node_->versions_[i]) {
    fail(absl::StrCat(std::string(node_->op_->name()), ": input ", i, " ", x.describe(),
                      " was changed in place between forward and backward"));
  }
  Middleware* const middleware = Middleware::first();
  return middleware ? middleware->saved_input(i, x) : x;
}

Tensor Saved::output() const {
  const Array& y = node_->output_;
  if (!y.storage()) {
    fail(absl::StrCat(std::string(node_->op_->name()),
                      ": backward reads the output, which its saves() does not keep"));
  }
  if (y.storage().version() != node_->output_version_) {
    fail(absl::StrCat(std::string(node_->op_->name()), ": output ", y.describe(),
                      " was changed in place between forward and backward"));
  }
  Middleware* const middleware = Middleware::first();
  return middleware ? middleware->saved_output(Tensor(y, node_)) : Tensor(y, node_);
}

}  // namespace qkv
