#include "framework/gradcheck/derivatives.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/graph/graph_walk.h"
#include "framework/graph/middleware.h"
#include "framework/graph/modes.h"
#include "framework/graph/node.h"
#include "framework/graph/op_faces.h"
#include "framework/graph/saved.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

// Keeps the term that each op that uses `leaf` adds to its gradient.
class Contributions final : public Middleware {
 public:
  Contributions(const Tensor& output, const Tensor& leaf) : leaf_(leaf) {
    for (const std::shared_ptr<Node>& node : nodes_behind(output.node())) {
      for (const Tensor& x : node->inputs()) {
        if (x.node() == leaf.node()) users_[&node->op()] = node.get();
      }
    }
  }

  std::vector<Tensor> backward(const Op& op, const Saved& saved, const Tensor& dy) override {
    std::vector<Tensor> dx = next(op, saved, dy);
    const auto user = users_.find(&op);
    if (user == users_.end()) return dx;
    const std::vector<Tensor>& inputs = user->second->inputs();
    for (size_t i = 0; i < std::min(dx.size(), inputs.size()); ++i) {
      if (inputs[i].node() == leaf_.node() && dx[i].defined())
        terms_.push_back(doubles_of(numbers_of(dx[i])));
    }
    return dx;
  }

  std::vector<std::vector<double>> take() { return std::move(terms_); }

 private:
  const Tensor& leaf_;
  std::unordered_map<const Op*, const Node*> users_;
  std::vector<std::vector<double>> terms_;
};

// The sum of <x_i, u_i>; only its derivative is used. An op of its own, so that no op of f stands
// in it: mutation testing changes those.
class AlongDirections final : public Op {
 public:
  explicit AlongDirections(std::vector<Tensor> u) : u_(std::move(u)) {}
  std::string_view name() const override { return "along_directions"; }
  Saves saves() const override { return Saves::kNothing; }
  Array forward(const Inputs& x) override { return Array::full(Shape{}, x[0].dtype(), 0.0); }
  std::vector<Tensor> backward(const Saved&, const Tensor&) const override { return u_; }

 private:
  std::vector<Tensor> u_;
};

// Whether a backward gives numbers that have no gradient by its cotangent, and are not zero.
class Detachments final : public Middleware {
 public:
  std::vector<Tensor> backward(const Op& op, const Saved& saved, const Tensor& dy) override {
    std::vector<Tensor> dx = next(op, saved, dy);
    const auto is_detached = [](const Tensor& x) {
      return x.defined() && !x.requires_grad() && largest_of(numbers_of(x)) > 0;
    };
    any_ |= dy.requires_grad() && std::ranges::any_of(dx, is_detached);
    return dx;
  }
  bool any() const { return any_; }

 private:
  bool any_ = false;
};

}  // namespace

Recorded::Recorded(const TensorFunction& f, std::span<const Tensor> inputs) {
  const RecordGradients record(true);
  for (const Tensor& x : inputs) {
    leaves_.push_back(is_floating(x.dtype()) ? parameter(x.array()) : x);
  }
  y_ = f(leaves_);
}

std::vector<Tensor> Recorded::gradients(const Tensor& cotangent, bool create_graph) const {
  std::vector<Tensor> result(leaves_.size());
  if (!y_.requires_grad()) return result;
  const Gradients gradients =
      backward(y_, {.cotangent = cotangent, .create_graph = create_graph, .keep_graph = true});
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (gradients.contains(leaves_[i])) result[i] = gradients[leaves_[i]];
  }
  return result;
}

std::vector<Numbers> Recorded::gradients(std::span<const Float128> cotangent) const {
  std::vector<Numbers> result;
  for (const Tensor& g : gradients(tensor_of(cotangent, y_.shape(), y_.dtype()))) {
    result.push_back(g.defined() ? numbers_of(g) : Numbers());
  }
  return result;
}

std::vector<std::vector<double>> Recorded::contributions(size_t i, const Tensor& cotangent) const {
  if (!y_.requires_grad()) return {};
  Contributions contributions(y_, leaves_[i]);
  gradients(cotangent);
  return contributions.take();
}

NamedNumbers Recorded::saved() const {
  NamedNumbers saved;
  if (!y_.requires_grad()) return saved;
  const auto add = [&](std::string name, const Array& x) {
    const bool has_numbers = x.defined() && is_floating(x.dtype()) && x.dtype() != DType::bf16;
    if (has_numbers) saved.emplace_back(std::move(name), doubles_of(numbers_of(Tensor(x))));
  };
  for (const std::shared_ptr<Node>& node : nodes_behind(y_.node())) {
    if (node->is_leaf()) continue;
    for (const Kept& kept : kept_of(node->op())) add(kept.name, *kept.array);
    for (const Tensor& x : node->inputs()) {
      if (x.node() != nullptr && !x.node()->is_leaf())
        add(std::string(x.node()->op().name()), x.array());
    }
  }
  return saved;
}

DoubleBackward::DoubleBackward(const Recorded& f, const Tensor& cotangent)
    : v_(parameter(cotangent.array())) {
  Detachments detachments;
  gradients_ = f.gradients(v_, true);
  is_whole_ = !detachments.any();
}

Tensor DoubleBackward::product(std::span<const Tensor> u) const {
  const RecordGradients record(true);
  std::vector<Tensor> gradients, directions;
  for (size_t i = 0; i < u.size(); ++i) {
    if (!u[i].defined() || !gradients_[i].defined()) continue;
    gradients.push_back(gradients_[i]);
    directions.push_back(u[i]);
  }
  if (gradients.empty() || !is_whole_) return Tensor();
  const Tensor along_u = apply<AlongDirections>(gradients, directions);
  if (!along_u.requires_grad()) return Tensor();
  const Gradients products = backward(along_u, {.keep_graph = true});
  return products.contains(v_) ? products[v_] : Tensor();
}

TensorFunction gradients_of(const TensorFunction& f) {
  return [&f](std::span<const Tensor> all) {
    const bool differentiable = records(all);
    const RecordGradients record(true);
    std::vector<Tensor> inputs;
    for (const Tensor& x : all.first(all.size() - 1)) {
      const bool make_leaf = is_floating(x.dtype()) && !x.requires_grad();
      inputs.push_back(make_leaf ? parameter(x.array()) : x);
    }
    const Tensor y = f(inputs);
    Gradients gradients;
    if (y.requires_grad()) {
      gradients = backward(y, {.cotangent = all.back(), .create_graph = differentiable});
    }
    std::vector<Tensor> pieces;
    for (const Tensor& x : inputs) {
      if (!is_floating(x.dtype())) continue;
      pieces.push_back(gradients.contains(x) ? reshape(gradients[x], {x.size()})
                                             : zeros({x.size()}, x.dtype()));
    }
    return concat(pieces, 0);
  };
}

NoForwardRule::NoForwardRule(std::string_view op)
    : Error(absl::StrCat("gradcheck: forward mode: no rule for ", std::string(op),
                         ": give it a tangent(), in the file of the op")),
      op_(op) {}

ForwardMode::ForwardMode(const TensorFunction& f, std::span<const Tensor> inputs) {
  const ComposedOnly composed;
  const OpsAsTheyAre none;  // the rules are those of the ops as they are
  const Recorder recorder(ops_);
  recorded_.emplace(f, inputs);
}

// A tensor is known by its node, so that a detached one is a constant, as it is for backward.
Tensor ForwardMode::derivative(std::span<const Tensor> tangents) const {
  const NoGrad no_grad;
  const OpsAsTheyAre none;  // the ops that rules call are none of f's
  std::unordered_map<const Node*, Tensor> moves;
  const std::span<const Tensor> leaves = recorded_->leaves();
  for (size_t i = 0; i < leaves.size(); ++i) moves[leaves[i].node().get()] = tangents[i];
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
  return moves[value().node().get()];
}

}  // namespace qkv
