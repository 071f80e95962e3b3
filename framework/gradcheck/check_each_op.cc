#include "framework/gradcheck/check_each_op.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "framework/core/error.h"
#include "framework/gradcheck/analytic.h"
#include "framework/graph/node.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using NodePointer = std::shared_ptr<Node>;

// What each op read when it ran: a node keeps only what its backward reads.
using InputsOfOps = std::unordered_map<const Op*, std::vector<Array>>;
class InputRecorder final : public Observer {
 public:
  explicit InputRecorder(InputsOfOps& inputs) : inputs_(inputs) {}

  void before_forward(const Op& op, const Inputs& x) override {
    std::vector<Array>& inputs = inputs_[&op];
    inputs.clear();
    for (size_t i = 0; i < x.size(); ++i) inputs.push_back(x[i]);
  }

 private:
  InputsOfOps& inputs_;
};

// Runs an op that stands in a graph once more, on other numbers.
class Replay final : public Op {
 public:
  explicit Replay(Op& op) : op_(op) {}
  std::string_view name() const override { return op_.name(); }
  Saves saves() const override { return Saves::kInputsAndOutput; }
  std::vector<Attribute> attributes() const override { return op_.attributes(); }

  Array forward(const Inputs& x) override { return op_.forward(x); }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < saved.size(); ++i) inputs.push_back(saved.input(i));
    op_.forward(Inputs(inputs));  // what it keeps for backward may be from another point
    return op_.backward(saved, dy);
  }

 private:
  Op& op_;
};

// Scores that a mask has hidden are -inf, where nothing can be varied: numbers that can stand in
// their place, and the mask hides them again.
struct Hidden {
  Tensor finite, mask;

  explicit Hidden(const Array& x) : finite(x) {
    if (x.dtype() != DType::f64) return;
    std::vector<double> values = x.to_vector(), hidden;
    for (double& value : values) {
      hidden.push_back(value == -kInfinity ? 1.0 : 0.0);
      if (value == -kInfinity) value = 0.0;
    }
    if (std::ranges::find(hidden, 1.0) == hidden.end()) return;
    finite = Tensor(Array::of(x.shape(), DType::f64, values));
    mask = Tensor(Array::of(x.shape(), DType::boolean, hidden));
  }
};

std::vector<Tensor> at_infinity(std::span<const Tensor> x, const std::vector<Tensor>& masks) {
  std::vector<Tensor> all(x.begin(), x.end());
  for (size_t i = 0; i < all.size(); ++i) {
    if (masks[i].defined()) all[i] = masked_fill(all[i], masks[i], -kInfinity);
  }
  return all;
}

std::vector<NodePointer> ops_of(const Tensor& y) {  // those that ran first come first
  if (!y.requires_grad()) return {};
  std::vector<NodePointer> nodes = nodes_behind(y.node());
  std::erase_if(nodes, [](const NodePointer& node) { return node->is_leaf(); });
  std::ranges::reverse(nodes);
  return nodes;
}

}  // namespace

std::string OpCheck::to_text() const {
  return absl::StrCat(op, " ", inputs, place.empty() ? "" : absl::StrCat(" (in ", place, ")"));
}

std::vector<OpCheck> find_wrong_ops(const TensorFunction& f, std::span<const Tensor> inputs,
                                    const GradcheckOptions& options) {
  InputsOfOps inputs_of;
  const Tensor y = [&] {
    const InputRecorder recorder(inputs_of);
    return Recorded(f, inputs).output();
  }();
  std::vector<OpCheck> wrong;
  for (const NodePointer& node : ops_of(y)) {
    std::vector<Tensor> at, masks;
    std::vector<std::string> described;
    for (const Array& x : inputs_of.at(&node->op())) {
      const Hidden hidden(x);
      at.push_back(hidden.finite);
      masks.push_back(hidden.mask);
      described.push_back(x.describe());
    }
    const Hidden output(node->op().forward(Inputs(at_infinity(at, masks))));
    const ScopeAt scope(node->scope());
    const TensorFunction alone = [&](std::span<const Tensor> x) {
      const Tensor result = apply<Replay>(at_infinity(x, masks), node->op());
      return output.mask.defined() ? masked_fill(result, output.mask, 0.0) : result;
    };
    GradcheckReport report = gradcheck(alone, at, options);
    if (report.passed()) continue;
    wrong.push_back({.op = std::string(node->op().name()),
                     .place = node->scope(),
                     .inputs = absl::StrJoin(described, ", "),
                     .report = std::move(report)});
  }
  return wrong;
}

}  // namespace qkv
