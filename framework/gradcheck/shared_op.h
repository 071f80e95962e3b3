#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/graph/node.h"
#include "framework/graph/op.h"

namespace qkv {

// One op object in two places: two nodes, or a node and a list of what ran. What it kept for
// backward is of the run that came last.
class SharedOp final : public Op {
 public:
  explicit SharedOp(std::shared_ptr<Op> op) : op_(std::move(op)) {}
  std::string_view name() const override { return op_->name(); }
  Array forward(const Inputs& x) override { return op_->forward(x); }
  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return op_->backward(saved, dy);
  }
  Saves saves() const override { return op_->saves(); }

 private:
  std::shared_ptr<Op> op_;
};

}  // namespace qkv
