#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/graph/op.h"

namespace qkv {

class GraphWalk;

// One recorded op, or a leaf. Nodes hold their inputs, so a loss holds its whole graph; none holds
// what was made from it.
class Node {
 public:
  Node();  // a leaf
  Node(std::shared_ptr<Op> op, std::vector<Tensor> inputs, const Array& output);
  ~Node();  // iterative: the length of a chain is not limited by the stack
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  uint64_t id() const { return id_; }  // grows with creation: an input's is below its user's
  bool is_leaf() const { return op_ == nullptr && !released_; }
  bool is_released() const { return released_; }
  const Op& op() const { return *op_; }
  Op& op() { return *op_; }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  const std::string& scope() const { return scope_; }  // the place in the model

  // Lets go of everything but the identity: backward has used it.
  void release();

 private:
  friend class Saved;
  friend class GraphWalk;

  uint64_t id_;
  bool released_ = false;
  std::atomic<const GraphWalk*> walk_ = nullptr;  // that is on it
  std::shared_ptr<Op> op_;
  std::vector<Tensor> inputs_;      // without storage where backward does not read them
  std::vector<uint64_t> versions_;  // of the inputs' storage when the op ran
  Array output_;
  uint64_t output_version_ = 0;
  std::string scope_;
};

// A node and every node that it depends on, users before what they use. Throws Error where a walk
// of another thread is on one: leaves apart, a graph belongs to one thread.
std::vector<std::shared_ptr<Node>> nodes_behind(const std::shared_ptr<Node>& node);

// The same, for who may release them.
class GraphWalk {
 public:
  explicit GraphWalk(const std::shared_ptr<Node>& node);
  ~GraphWalk();
  GraphWalk(const GraphWalk&) = delete;
  GraphWalk& operator=(const GraphWalk&) = delete;

  std::vector<std::shared_ptr<Node>>& nodes() { return nodes_; }
  void leave(std::shared_ptr<Node>& node) const;  // and lets go of it
  static void require_own(const Node& node);

 private:
  const GraphWalk* outer_;  // of this thread
  std::vector<std::shared_ptr<Node>> nodes_;
};

// What an op's backward may read.
class Saved {
 public:
  explicit Saved(const std::shared_ptr<Node>& node) : node_(node) {}

  bool needs(size_t i) const { return node_->inputs_[i].requires_grad(); }
  // The numbers as they were in the forward. Throw Error when they were changed in place since.
  const Tensor& input(size_t i) const;
  Tensor output() const;

  const Shape& shape(size_t i) const { return node_->inputs_[i].shape(); }
  DType dtype(size_t i) const { return node_->inputs_[i].dtype(); }
  size_t size() const { return node_->inputs_.size(); }

 private:
  const std::shared_ptr<Node>& node_;
};

}  // namespace qkv
