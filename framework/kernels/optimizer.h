#pragma once

#include "framework/core/array.h"

namespace qkv::kernels {

// One step on one parameter w, in place. g is the gradient times `gradient_scale` (clipping).

//   g = g + weight_decay w;  v = momentum v + g;  w = w - learning_rate v
struct SgdStep {
  Scalar learning_rate, momentum, weight_decay, gradient_scale;
};
void sgd(const SgdStep& step, const Array& gradient, Array& weight, Array& velocity);

//   g = g + l2 w;  m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g²
//   w = w - learning_rate weight_decay w
//         - learning_rate (m / correction1) / (sqrt(v / correction2) + epsilon)
// Adam has l2, AdamW weight_decay: Kingma and Ba 2015; Loshchilov and Hutter 2019.
struct AdamStep {
  Scalar learning_rate, beta1, beta2, epsilon, l2, weight_decay, correction1, correction2,
      gradient_scale;
};
void adam(const AdamStep& step, const Array& gradient, Array& weight, Array& first_moment,
          Array& second_moment);

// average = average + share (weight - average)
void average(Scalar share, const Array& weight, Array& average);

}  // namespace qkv::kernels
