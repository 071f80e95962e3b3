#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/ops/support/op_examples.h"
#include "framework/optim/optimizer_options.h"

namespace qkv {

// A whole training step (loss, gradient, clipping, optimizer) as one function of all its inputs:
//
//   (data…, weights…, optimizer state…, learning rate []) -> the new weights, one after the other
//
// The state has the weights' shapes: every velocity (sgd), or every first moment and then every
// second moment (adam, adamw). The first step has no state: it is zero, and no input.
struct TrainingStep {
  TensorFunction loss;         // (data…, weights…) -> a scalar
  size_t data = 0;             // number of inputs that are data
  OptimizerOptions optimizer;  // its learning rate and schedule are not read
  int64_t number = 1;          // counted from 1

  // The step of training: backward with fused ops, clip_scale, and Optimizer::step on copies. It
  // is not recorded.
  Tensor trained(std::span<const Tensor> inputs) const;

  // The same in differentiable ops. With the gradient g of the loss by w, its norm |g| over all
  // weights, c = grad_clip, the learning rate r and the weight decay d:
  //
  //   g = g c / max(c, |g| + 1e-6)                              where c is not 0
  //   sgd    g = g + d w;  u = momentum u + g;  w = w - r u
  //   adam   g = g + d w
  //   adamw  w = w - r d w                                      of matrices only
  //   both   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g²
  //          w = w - r (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
  //
  // Sources: see kernels/kernels.h, and clip_scale.
  Tensor composed(std::span<const Tensor> inputs) const;

  // `composed` where it is recorded, else `trained`: so gradcheck takes its differences of the step
  // that training makes, and compares them with the backward of the formulas.
  Tensor operator()(std::span<const Tensor> inputs) const;
};

// Whole training steps of small networks, each as a function of the data, the weights, the state of
// the optimizer and the learning rate, in the form of ops' examples.
std::vector<OpExamples> step_examples();

}  // namespace qkv
