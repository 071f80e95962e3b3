#include "framework/gradcheck/analytic.h"

#include <cmath>
#include <memory>

#include "framework/autograd/backward.h"
#include "framework/gradcheck/epsilon.h"
#include "framework/graph/node.h"
#include "framework/graph/op.h"
#include "framework/graph/recorder.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

// What y is the difference of: log(sum(exp(x))) and a score, in these.
double size_inside(const RecordedOp& call) {
  if (call.op->name() != "log_softmax" && call.op->name() != "cross_entropy") return 0.0;
  double largest = 0.0;
  for (const double score : call.x[0].to_vector()) {
    if (std::isfinite(score)) largest = std::max(largest, std::abs(score));
  }
  return largest;
}

using AllComputed = std::unordered_map<const Op*, Computed>;

class RoundingSum final : public Observer {
 public:
  explicit RoundingSum(const AllComputed& computed) : computed_(computed) {}

  void before_backward(const Op& op, const Tensor& dy) override {
    const auto found = computed_.find(&op);
    if (found == computed_.end()) return;
    const auto& [array, inside] = found->second;
    if (dy.dtype() != DType::f64 || array.dtype() != DType::f64) return;
    const double *z = array.data<double>(), *dz = dy.array().data<double>();
    double sum = 0.0, squares = 0.0;
    const int64_t size = dy.size();
    for (int64_t i = 0; i < size; ++i) {
      double moved = std::abs(dz[i]) * std::max(std::abs(z[i]), inside);
      if (!std::isfinite(moved)) moved = 0.0;  // a masked score is -inf
      sum += moved, squares += moved * moved;
    }
    sum_ += sum, squares_ += squares, count_ += static_cast<double>(size);
  }

  GraphRounding rounding() const {
    return {.worst = kEpsilon * sum_, .typical = kEpsilon * norm_of(sum_, squares_, count_)};
  }

 private:
  const AllComputed& computed_;
  double sum_ = 0.0, squares_ = 0.0, count_ = 0.0;
};

// Keeps what each op that uses `leaf` adds to its gradient.
class Contributions final : public Observer {
 public:
  Contributions(const Tensor& output, const Tensor& leaf) : leaf_(leaf) {
    for (const std::shared_ptr<Node>& node : nodes_behind(output.node())) {
      for (const Tensor& x : node->inputs()) {
        if (x.node() == leaf.node()) users_[&node->op()] = node.get();
      }
    }
  }

  void after_backward(const Op& op, const Tensor&, std::span<const Tensor> dx) override {
    const auto user = users_.find(&op);
    if (user == users_.end()) return;
    const std::vector<Tensor>& inputs = user->second->inputs();
    for (size_t i = 0; i < dx.size(); ++i) {
      if (inputs[i].node() == leaf_.node() && dx[i].defined()) terms_.push_back(dx[i].to_vector());
    }
  }

  std::vector<std::vector<double>> take() { return std::move(terms_); }

 private:
  const Tensor& leaf_;
  std::unordered_map<const Op*, const Node*> users_;
  std::vector<std::vector<double>> terms_;
};

}  // namespace

Recorded::Recorded(const TensorFunction& f, std::span<const Tensor> inputs) {
  const RecordGradients record(true);
  for (const Tensor& x : inputs) {
    leaves_.push_back(is_floating(x.dtype()) ? parameter(x.array()) : x);
  }
  std::vector<RecordedOp> ops;
  const Recorder recorder(ops);
  y_ = f(leaves_);
  computed_.reserve(ops.size());
  for (const RecordedOp& each : ops) {
    if (each.y.requires_grad()) computed_[each.op.get()] = {each.y.array(), size_inside(each)};
  }
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

std::vector<Tensor> Recorded::gradients(const Tensor& cotangent, GraphRounding& rounding) const {
  const RoundingSum roundings(computed_);
  std::vector<Tensor> result = gradients(cotangent);
  rounding = roundings.rounding();
  return result;
}

std::vector<std::vector<double>> Recorded::contributions(size_t i, const Tensor& cotangent) const {
  if (!y_.requires_grad()) return {};
  Contributions contributions(y_, leaves_[i]);
  gradients(cotangent);
  return contributions.take();
}

ForwardProducts::ForwardProducts(const Recorded& f, const Tensor& cotangent)
    : v_(parameter(cotangent.array())), gradients_(f.gradients(v_, true)) {}

Tensor ForwardProducts::product(size_t i, const Tensor& u) const {
  const RecordGradients record(true);
  const Tensor& g = gradients_[i];
  if (!g.defined() || !g.requires_grad()) return Tensor();
  if (g.node() == v_.node()) return u;  // f hands its input on
  const Gradients products = backward(g, {.cotangent = u, .keep_graph = true});
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
                                             : zeros({x.size()}, DType::f64));
    }
    return concat(pieces, 0);
  };
}

std::vector<int64_t> sizes_of_gradients(std::span<const Tensor> inputs) {
  std::vector<int64_t> sizes;
  for (const Tensor& x : inputs) {
    if (is_floating(x.dtype())) sizes.push_back(x.size());
  }
  return sizes;
}

namespace {

std::vector<Tensor> joined(std::span<const Tensor> inputs, const Tensor& last) {
  std::vector<Tensor> all(inputs.begin(), inputs.end());
  all.push_back(last);
  return all;
}

}  // namespace

RecordedGradients::RecordedGradients(const TensorFunction& f, std::span<const Tensor> inputs,
                                     const Tensor& cotangent)
    : inputs_(inputs.begin(), inputs.end()),
      gradients_(gradients_of(f), joined(inputs, cotangent)) {}

GraphRounding RecordedGradients::rounding(size_t input, const Tensor& u) const {
  std::vector<Tensor> directions;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!is_floating(inputs_[i].dtype())) continue;
    directions.push_back(i == input ? reshape(u, {u.size()})
                                    : zeros({inputs_[i].size()}, DType::f64));
  }
  GraphRounding rounding;
  gradients_.gradients(concat(directions, 0), rounding);
  return rounding;
}

}  // namespace qkv
