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
// its results.
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

}  // namespace qkv
