#pragma once

#include <memory>

#include "framework/graph/node.h"

namespace qkv {

// The tensors that an op's backward may read.
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
