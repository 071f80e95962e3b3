#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_map>
#include <vector>

#include "framework/autograd/tensor_function.h"
#include "framework/core/array.h"

// What backward says, for gradcheck.
namespace qkv {

class Op;

// The effect of roundings on a number: each intermediate z is rounded once, which changes z
// by epsilon |z|, and the number by its derivative with respect to z times that.
// Linnainmaa, "Taylor expansion of the accumulated rounding error", 1976.
struct GraphRounding {
  double worst = 0.0;    // epsilon sum |dz z|: all in one direction
  double typical = 0.0;  // epsilon sqrt(sum (dz z)²): independent of each other
};

// sqrt(sum z²), also where the squares are too large or too small for a double: between
// sum |z| / sqrt(count) and sum |z|.
inline double norm_of(double sum, double squares, double count) {
  if (!std::isfinite(squares)) return sum;
  return count == 0.0 ? 0.0 : std::max(std::sqrt(squares), sum / std::sqrt(count));
}

// What an op gave, and how large the numbers were that it came from, where that is known.
struct Computed {
  Array z;
  double inside = 0.0;
};

// f recorded at its inputs, every floating one of which is a leaf.
class Recorded {
 public:
  Recorded(const TensorFunction& f, std::span<const Tensor> inputs);

  const Tensor& output() const { return y_; }
  const Tensor& leaf(size_t i) const { return leaves_[i]; }
  // For each input Jᵀ cotangent; undefined where f does not depend on it. The graph stays.
  std::vector<Tensor> gradients(const Tensor& cotangent, bool create_graph = false) const;
  // The same, and what roundings do to cotangent · y.
  std::vector<Tensor> gradients(const Tensor& cotangent, GraphRounding& rounding) const;
  // What each use of input i adds to its gradient.
  std::vector<std::vector<double>> contributions(size_t i, const Tensor& cotangent) const;

 private:
  std::vector<Tensor> leaves_;
  Tensor y_;
  std::unordered_map<const Op*, Computed> computed_;  // by each op
};

// J u for a direction u of one input: Jᵀv is linear in v, and the gradient of <Jᵀv, u> by v is J u.
// Undefined where the backward of f cannot be differentiated by its cotangent.
// (Townsend, "A new trick for calculating Jacobian vector products", 2017.)
class ForwardProducts {
 public:
  ForwardProducts(const Recorded& f, const Tensor& cotangent);

  // Jᵀ cotangent by the composed formulas.
  const std::vector<Tensor>& gradients() const { return gradients_; }
  Tensor product(size_t i, const Tensor& u) const;

 private:
  Tensor v_;
  std::vector<Tensor> gradients_;
};

// (inputs, cotangent) -> every gradient of f, one after the other.
TensorFunction gradients_of(const TensorFunction& f);
// How many elements each of them has.
std::vector<int64_t> sizes_of_gradients(std::span<const Tensor> inputs);

// Jᵀ cotangent, recorded as it is computed by the composed formulas.
class RecordedGradients {
 public:
  RecordedGradients(const TensorFunction& f, std::span<const Tensor> inputs,
                    const Tensor& cotangent);

  // What roundings do to <Jᵀ cotangent, u>, with u a direction of one input.
  GraphRounding rounding(size_t input, const Tensor& u) const;

 private:
  std::vector<Tensor> inputs_;
  Recorded gradients_;
};

}  // namespace qkv
