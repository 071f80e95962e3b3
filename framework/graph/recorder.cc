#include "framework/graph/recorder.h"

#include <unordered_set>
#include <utility>

#include "framework/core/error.h"
#include "framework/graph/graph_walk.h"
#include "framework/graph/node.h"
#include "framework/graph/op_faces.h"
#include "framework/graph/saved.h"

namespace qkv {
namespace {

constexpr std::string_view kBackward = "backward";  // the section

class Replay final : public Op, public HasTangent, public HasAttributes {
 public:
  explicit Replay(std::shared_ptr<Op> op) : op_(std::move(op)) {}
  std::string_view name() const override { return op_->name(); }
  Saves saves() const override { return Saves::kInputsAndOutput; }
  std::vector<Attribute> attributes() const override { return attributes_of(*op_); }

  Array forward(const Inputs& x) override { return op_->forward(x); }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < saved.size(); ++i) inputs.push_back(saved.input(i));
    op_->forward(Inputs(inputs));  // what it keeps for backward may be from another point
    return op_->backward(saved, dy);
  }

  Tensor tangent(TensorSpan x, const Tensor& y, TensorSpan x_dot) override {
    return tangent_of(*op_, x, y, x_dot);
  }

 private:
  std::shared_ptr<Op> op_;
};

}  // namespace

Tensor Recorder::forward(const std::shared_ptr<Op>& op, TensorSpan x) {
  Tensor y = next(op, x);
  ops_.push_back({.op = op,
                  .x = {x.begin(), x.end()},
                  .y = y,
                  .scope = Scope::current(),
                  .in_backward = backwards_ > 0,
                  .backward_of = differentiated_});
  return y;
}

std::vector<Tensor> Recorder::backward(const Op& op, const Saved& saved, const Tensor& dy) {
  differentiated_ = &op;
  std::vector<Tensor> dx = next(op, saved, dy);
  differentiated_ = nullptr;
  if (!walk_) return dx;
  walk_->push_back(
      {.of = &op, .dy = dy, .dx = dx, .scope = Scope::current(), .ops_before = ops_.size()});
  return dx;
}

void Recorder::before_section(std::string_view name) { backwards_ += name == kBackward; }
void Recorder::after_section(std::string_view name) { backwards_ -= name == kBackward; }

std::vector<RecordedOp> ops_behind(const Tensor& y, const std::vector<RecordedOp>& ops) {
  std::vector<RecordedOp> behind;
  if (!y.requires_grad()) return behind;
  std::unordered_set<const Node*> nodes;
  for (const std::shared_ptr<Node>& node : nodes_behind(y.node())) nodes.insert(node.get());
  for (const RecordedOp& each : ops) {
    if (nodes.contains(each.y.node().get())) behind.push_back(each);
  }
  return behind;
}

Tensor replay(const RecordedOp& recorded, std::vector<Tensor> inputs) {
  return apply<Replay>(std::move(inputs), recorded.op);
}

}  // namespace qkv
