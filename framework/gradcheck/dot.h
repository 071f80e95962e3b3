#pragma once

#include <algorithm>
#include <cmath>

#include "framework/graph/tensor.h"

// Dot products that know how much cancels in them, for gradcheck.
namespace qkv {

struct Dot {
  double value = 0.0, size = 0.0;  // the sum of the terms, and of their absolute values

  void add(double term) { value += term, size += std::abs(term); }
  void add(const Dot& part) { value += part.value, size += part.size; }
};

// An undefined tensor is zero.
inline Dot dot(const Tensor& a, const Tensor& b) {
  Dot result;
  if (!a.defined() || !b.defined()) return result;
  const double *p = a.array().data<double>(), *q = b.array().data<double>();
  for (int64_t i = 0; i < a.size(); ++i) {
    result.add(p[i] * q[i]);
  }
  return result;
}

inline double largest_of(const Tensor& x) {
  double largest = 0.0;
  for (const double number : x.to_vector()) largest = std::max(largest, std::abs(number));
  return largest;
}

}  // namespace qkv
