#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/autograd/tensor_function.h"
#include "framework/core/error.h"
#include "framework/graph/op.h"

// Forward-mode differentiation: J u without a step and without a backward.
namespace qkv {

// An op stands between the inputs that move and the value, and forward_rules.h has no rule for it.
class NoForwardRule : public Error {
 public:
  explicit NoForwardRule(std::string_view op);
  const std::string& op() const { return op_; }

 private:
  std::string op_;
};

// The ops that f runs at its inputs, in their order, with every fused op in its pieces: a list of
// simple functions, along which a tangent is handed from the inputs to the value by one rule for
// each op. Wengert, "A simple automatic derivative evaluation program", 1964.
//
// The rules (forward_rules.h) know nothing of backward. Where f is itself the gradient of a
// function (gradients_of), the ops of that backward are in the list.
class ForwardMode {
 public:
  // Inputs f64, or masks and indices.
  ForwardMode(const TensorFunction& f, std::span<const Tensor> inputs);

  const Tensor& value() const { return y_; }
  // J u: how fast f's value moves when input i moves by tangents[i] (of its shape; undefined: not
  // at all). Undefined where f does not depend on what moves. Throws NoForwardRule.
  Tensor derivative(std::span<const Tensor> tangents) const;

 private:
  class Recorder;
  static constexpr int kConstant = -1;

  struct Step {
    std::shared_ptr<Op> op;
    std::vector<Tensor> x;
    Tensor y;
    std::vector<int> from;  // where the tangent of each x stands: an input or a step before
  };

  std::vector<Step> steps_;  // tangents: those of the inputs come first, then those of the steps
  Tensor y_;
  int y_place_ = kConstant;
};

// The same for one direction.
Tensor forward_derivative(const TensorFunction& f, std::span<const Tensor> inputs,
                          std::span<const Tensor> tangents);

}  // namespace qkv
