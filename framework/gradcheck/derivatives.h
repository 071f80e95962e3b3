#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/core/error.h"
#include "framework/gradcheck/arithmetic.h"
#include "framework/graph/recorder.h"

// Derivatives without a step: by backward, by the backward of backward, and by forward mode.
namespace qkv {

using NamedNumbers = std::vector<std::pair<std::string, std::vector<double>>>;

// f recorded at its inputs; every floating one is a leaf.
class Recorded {
 public:
  Recorded(const TensorFunction& f, std::span<const Tensor> inputs);

  const Tensor& output() const { return y_; }
  std::span<const Tensor> leaves() const { return leaves_; }
  // For each input Jᵀ cotangent; undefined where f does not depend on it. The graph stays.
  std::vector<Tensor> gradients(const Tensor& cotangent, bool create_graph = false) const;
  // The same as numbers; an empty one for undefined.
  std::vector<Numbers> gradients(std::span<const Float128> cotangent) const;
  // The terms that each use of input i adds to its gradient.
  std::vector<std::vector<double>> contributions(size_t i, const Tensor& cotangent) const;
  NamedNumbers saved() const;  // for backward: fields of ops, and what they hand to one another

 private:
  std::vector<Tensor> leaves_;
  Tensor y_;
};

// J u for a direction u of the inputs: Jᵀv is linear in v, and the gradient of <Jᵀv, u> by v is
// J u. Undefined where a backward within f cannot be differentiated by its cotangent.
// (Townsend, "A new trick for calculating Jacobian vector products", 2017.)
class DoubleBackward {
 public:
  DoubleBackward(const Recorded& f, const Tensor& cotangent);

  const std::vector<Tensor>& gradients() const { return gradients_; }  // with create_graph
  Tensor product(std::span<const Tensor> u) const;  // of each input; undefined: it stands still

 private:
  Tensor v_;
  std::vector<Tensor> gradients_;
  bool is_whole_ = true;
};

// (inputs, cotangent) -> every gradient of f, one after the other.
TensorFunction gradients_of(const TensorFunction& f);

// An op stands between the inputs that move and the value, and has no tangent.
class NoForwardRule : public Error {
 public:
  explicit NoForwardRule(std::string_view op);
  const std::string& op() const { return op_; }

 private:
  std::string op_;
};

// J u without a backward: the ops that f runs at its inputs, in their order, with every fused op in
// its pieces: a list of simple functions, along which a tangent is handed from the inputs to the
// value by the rule of each op (Op::tangent). Wengert, "A simple automatic derivative evaluation
// program", 1964.
//
// The rules know nothing of backward. Where f is itself the gradient of a function (gradients_of),
// the ops of that backward are in the list.
class ForwardMode {
 public:
  // Inputs f64 or f128, or masks and indices.
  ForwardMode(const TensorFunction& f, std::span<const Tensor> inputs);

  const Tensor& value() const { return recorded_->output(); }
  // J u: how fast f's value moves when input i moves by tangents[i] (of its shape; undefined: not
  // at all). Undefined where f does not depend on what moves. Throws NoForwardRule.
  Tensor derivative(std::span<const Tensor> tangents) const;

 private:
  std::optional<Recorded> recorded_;
  std::vector<RecordedOp> ops_;
};

}  // namespace qkv
