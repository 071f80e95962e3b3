#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/autograd/tensor_function.h"
#include "framework/core/error.h"
#include "framework/graph/recorder.h"

// Forward-mode differentiation: J u without a step and without a backward.
namespace qkv {

// An op stands between the inputs that move and the value, and has no tangent.
class NoForwardRule : public Error {
 public:
  explicit NoForwardRule(std::string_view op);
  const std::string& op() const { return op_; }

 private:
  std::string op_;
};

// The ops that f runs at its inputs, in their order, with every fused op in its pieces: a list of
// simple functions, along which a tangent is handed from the inputs to the value by the rule of
// each op (Op::tangent). Wengert, "A simple automatic derivative evaluation program", 1964.
//
// The rules know nothing of backward. Where f is itself the gradient of a
// function (gradients_of), the ops of that backward are in the list.
class ForwardMode {
 public:
  // Inputs f64 or f128, or masks and indices.
  ForwardMode(const TensorFunction& f, std::span<const Tensor> inputs);

  const Tensor& value() const { return y_; }
  // J u: how fast f's value moves when input i moves by tangents[i] (of its shape; undefined: not
  // at all). Undefined where f does not depend on what moves. Throws NoForwardRule.
  Tensor derivative(std::span<const Tensor> tangents) const;

 private:
  std::vector<Tensor> leaves_;
  std::vector<RecordedOp> ops_;
  Tensor y_;
};

// The same for one direction.
Tensor forward_derivative(const TensorFunction& f, std::span<const Tensor> inputs,
                          std::span<const Tensor> tangents);

}  // namespace qkv
