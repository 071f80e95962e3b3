#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/gradcheck/derivatives.h"
#include "framework/gradcheck/probe.h"

namespace qkv {

inline double largest_value(const Tensor& x) {
  double largest = 0.0;
  for (const double number : x.to_vector()) largest = std::max(largest, std::abs(number));
  return largest;
}

// <v, Ju> by forward mode against <u, Jᵀv> by backward: how far apart they are at most, over the
// floating inputs and three cotangents v, in units of
//   sum(|v Ju|) + sum(|u Jᵀv|) + max|v| max|f|
// the terms of the two sums, and the size of a rounding of f along v.
inline double forward_disagreement(const TensorFunction& f, std::span<const Tensor> inputs) {
  const ForwardMode forward(f, inputs);
  const Recorded recorded(f, inputs);
  const RandomStream stream(5);
  double worst = 0.0;
  for (uint64_t k = 0; k < 3; ++k) {
    const Tensor v = random_like(forward.value(), stream.derive(k));
    const std::vector<Tensor> gradients = recorded.gradients(v);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!is_floating(inputs[i].dtype())) continue;
      std::vector<Tensor> tangents(inputs.size());
      tangents[i] = random_like(inputs[i], stream.derive("direction").derive(i));
      const Tensor ju = forward.derivative(tangents);
      double difference = 0.0, size = largest_value(v) * largest_value(forward.value());
      const auto add = [&](const Tensor& a, const Tensor& b, double sign) {
        if (!a.defined()) return;
        const std::vector<double> p = a.to_vector(), q = b.to_vector();
        for (size_t e = 0; e < p.size(); ++e) {
          difference += sign * p[e] * q[e], size += std::abs(p[e] * q[e]);
        }
      };
      add(ju, v, 1.0);
      add(gradients[i], tangents[i], -1.0);
      if (difference == 0.0) continue;
      const double share = std::abs(difference) / size;
      if (!(share <= worst)) worst = share;  // a NaN, too
    }
  }
  return worst;
}

// The same of the gradients of f, by its inputs and a cotangent: the second derivatives.
inline double forward_disagreement_of_gradients(const TensorFunction& f,
                                                std::span<const Tensor> inputs) {
  std::vector<Tensor> at(inputs.begin(), inputs.end());
  at.push_back(random_like(f(inputs), RandomStream(6)));
  return forward_disagreement(gradients_of(f), at);
}

}  // namespace qkv
