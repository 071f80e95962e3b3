#pragma once

#include <span>
#include <string>
#include <vector>

#include "framework/graph/op.h"

// What an op says of its own rounding.
namespace qkv {

// One call of an op in f64: the exact numbers, as far as f32 and bf16 are concerned.
struct ExactCall {
  TensorSpan x;
  const Tensor& y;
  std::span<const double> sum_roundings;  // of the result that is x[i]
};

// |fl(y) - y| <= u errors[i] + O(u²) for element i of y, where u is the unit roundoff of the type
// that the op computes in. The bounds of sums hold for every order of the terms, and with fused
// multiply-add (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, chapters 3 and 4).
struct Rounding {
  std::string formula = "";         // of the errors; "": nobody knows
  std::vector<double> errors = {};  // none: the op is exact, and so is storing its result
  // How many factors (1 + delta), |delta| <= u, the terms of an element are multiplied with at
  // most: the n of gamma_n = n u / (1 - n u).
  double roundings = 0.0;
  // The same, where y is a sum of numbers or products, also in another shape: what is added to it
  // is rounded as often, for it may be the sum's first term.
  double sum_roundings = 0.0;
  // How far each element stands from a kink, where another branch begins; none: there are none.
  std::vector<double> to_kink = {};
};

}  // namespace qkv
