#include "framework/gradcheck/forward_mode.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/gradcheck/forward_rules.h"
#include "framework/gradcheck/shared_op.h"
#include "framework/graph/interceptor.h"
#include "framework/graph/node.h"

namespace qkv {

NoForwardRule::NoForwardRule(std::string_view op)
    : Error(absl::StrCat("gradcheck: forward mode: no rule for ", std::string(op),
                         ": give it one in gradcheck/forward_rules.cc")),
      op_(op) {}

// Lists the ops of a run. What it knows a tensor by is its node, so that a detached one is a
// constant, as it is for backward.
class ForwardMode::Recorder final : public Interceptor {
 public:
  explicit Recorder(std::vector<Step>& steps) : steps_(steps) {}

  Tensor leaf(const Tensor& x) {
    const int place = next_++;
    if (!is_floating(x.dtype())) return x;
    Tensor input = parameter(x.array());
    places_[input.node().get()] = place;
    return input;
  }

  int place_of(const Tensor& x) const {
    const auto found = places_.find(x.node().get());
    return found == places_.end() ? kConstant : found->second;
  }

  Tensor run(std::unique_ptr<Op> op, std::vector<Tensor> inputs) override {
    const std::shared_ptr<Op> shared = std::move(op);
    Tensor y = run_directly(std::make_unique<SharedOp>(shared), inputs);
    std::vector<int> from;
    for (const Tensor& x : inputs) from.push_back(place_of(x));
    const bool moves = std::ranges::any_of(from, [](int place) { return place != kConstant; });
    if (!moves || !y.requires_grad()) return y;
    places_[y.node().get()] = next_++;
    steps_.push_back({.op = shared, .x = std::move(inputs), .y = y, .from = std::move(from)});
    return y;
  }

 private:
  std::vector<Step>& steps_;  // they hold the tensors, so that no node's address is used again
  std::unordered_map<const Node*, int> places_;
  int next_ = 0;
};

ForwardMode::ForwardMode(const TensorFunction& f, std::span<const Tensor> inputs) {
  const RecordGradients record(true);
  const ComposedOnly composed;
  Recorder recorder(steps_);
  std::vector<Tensor> leaves;
  for (const Tensor& x : inputs) leaves.push_back(recorder.leaf(x));
  y_ = f(leaves);
  y_place_ = recorder.place_of(y_);
}

Tensor ForwardMode::derivative(std::span<const Tensor> tangents) const {
  const NoGrad no_grad;
  const Interceptor none;  // the ops that rules call are none of f's
  std::vector<Tensor> moves(tangents.begin(), tangents.end());
  for (const Step& step : steps_) {
    std::vector<Tensor> dx;
    for (const int place : step.from) dx.push_back(place == kConstant ? Tensor() : moves[place]);
    if (std::ranges::none_of(dx, &Tensor::defined)) {
      moves.emplace_back();
      continue;
    }
    if (step.y.dtype() != DType::f64) {
      throw NoForwardRule(absl::StrCat(std::string(step.op->name()), " in ",
                                       std::string(dtype_name(step.y.dtype()))));
    }
    const ForwardRule* rule = forward_rule_of(step.op->name());
    if (!rule) throw NoForwardRule(step.op->name());
    moves.push_back(rule->tangent({.op = *step.op, .x = step.x, .y = step.y, .dx = dx}));
  }
  return y_place_ == kConstant ? Tensor() : moves[y_place_];
}

Tensor forward_derivative(const TensorFunction& f, std::span<const Tensor> inputs,
                          std::span<const Tensor> tangents) {
  return ForwardMode(f, inputs).derivative(tangents);
}

}  // namespace qkv
