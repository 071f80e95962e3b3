#include "framework/gradcheck/forward_mode.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/graph/middleware.h"
#include "framework/graph/node.h"
#include "framework/graph/op_faces.h"

namespace qkv {

NoForwardRule::NoForwardRule(std::string_view op)
    : Error(absl::StrCat("gradcheck: forward mode: no rule for ", std::string(op),
                         ": give it a tangent(), in the file of the op")),
      op_(op) {}

ForwardMode::ForwardMode(const TensorFunction& f, std::span<const Tensor> inputs) {
  const RecordGradients record(true);
  const ComposedOnly composed;
  const OpsAsTheyAre none;  // the rules are those of the ops as they are
  for (const Tensor& x : inputs) {
    leaves_.push_back(is_floating(x.dtype()) ? parameter(x.array()) : x);
  }
  const Recorder recorder(ops_);
  y_ = f(leaves_);
}

// A tensor is known by its node, so that a detached one is a constant, as it is for backward.
Tensor ForwardMode::derivative(std::span<const Tensor> tangents) const {
  const NoGrad no_grad;
  const OpsAsTheyAre none;  // the ops that rules call are none of f's
  std::unordered_map<const Node*, Tensor> moves;
  for (size_t i = 0; i < leaves_.size(); ++i) moves[leaves_[i].node().get()] = tangents[i];
  moves[nullptr] = Tensor();  // constants
  for (const RecordedOp& each : ops_) {
    if (!each.y.requires_grad()) continue;
    std::vector<Tensor> x_dot;
    x_dot.reserve(each.x.size());
    for (const Tensor& x : each.x) x_dot.push_back(moves[x.node().get()]);
    if (std::ranges::none_of(x_dot, &Tensor::defined)) continue;
    if (computed_dtype(each.y.dtype()) == DType::f32) {
      throw NoForwardRule(absl::StrCat(std::string(each.op->name()), " in ",
                                       std::string(dtype_name(each.y.dtype()))));
    }
    Tensor y_dot = tangent_of(*each.op, each.x, each.y, x_dot);
    if (!y_dot.defined()) throw NoForwardRule(each.op->name());
    moves[each.y.node().get()] = std::move(y_dot);
  }
  return moves[y_.node().get()];
}

Tensor forward_derivative(const TensorFunction& f, std::span<const Tensor> inputs,
                          std::span<const Tensor> tangents) {
  return ForwardMode(f, inputs).derivative(tangents);
}

}  // namespace qkv
