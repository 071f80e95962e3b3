#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "framework/graph/op.h"

// What rounding does to the result of each op.
namespace qkv {

// One call of an op in f64: the exact numbers, as far as f32 and bf16 are concerned.
struct ExactCall {
  Op& op;
  std::span<const Tensor> x;
  std::span<const double> roundings;  // of x[i], where it is a sum of products or numbers, else 0
  const Array& y;                     // op of x
};

// |fl(y) - y| <= u errors[i] + O(u²) for element i of y, where u is the unit roundoff of the type
// that the op computes in.
struct Rounding {
  std::vector<double> errors = {};  // none: the op is exact, and so is storing its result
  // How many factors (1 + delta), |delta| <= u, the terms of an element are multiplied with at
  // most: the n of gamma_n = n u / (1 - n u).
  double roundings = 0.0;
};

// How an op rounds. The bounds of sums hold for every order of the terms, and with fused
// multiply-add (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, chapters 3 and 4).
struct RoundingRule {
  std::string_view op;
  std::string_view errors;  // as a formula
  Rounding (*rounding)(const ExactCall& call);
};

std::span<const RoundingRule> rounding_rules();
const RoundingRule* rounding_rule_of(std::string_view op);  // nullptr: there is none

}  // namespace qkv
