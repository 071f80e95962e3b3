#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/autograd/tensor_function.h"
#include "framework/gradcheck/arithmetic.h"

// What backward says, for gradcheck.
namespace qkv {

using NamedNumbers = std::vector<std::pair<std::string, std::vector<double>>>;

// f recorded at its inputs, every floating one of which is a leaf.
class Recorded {
 public:
  Recorded(const TensorFunction& f, std::span<const Tensor> inputs);

  const Tensor& output() const { return y_; }
  // For each input Jᵀ cotangent; undefined where f does not depend on it. The graph stays.
  std::vector<Tensor> gradients(const Tensor& cotangent, bool create_graph = false) const;
  // The same as numbers; an empty one for undefined.
  std::vector<Numbers> gradients(std::span<const Scalar> cotangent) const;
  // What each use of input i adds to its gradient.
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

}  // namespace qkv
