#pragma once

#include "framework/ops/ops.h"

// The checks of cross_entropy's arguments, and its formula in composed ops.
namespace qkv {

void check_cross_entropy(const Tensor& logits, const Tensor& targets,
                         const CrossEntropyOptions& options);

// That of the options, or how many targets are not ignored, at least 1.
double divisor_of(const Array& targets, const CrossEntropyOptions& options);

// logits [N, V], targets [N] -> the loss of each row [N], and the gradient of that
Tensor cross_entropy_formula(const Tensor& logits, const Array& targets,
                             const CrossEntropyOptions& options);
Tensor cross_entropy_gradient(const Tensor& logits, const Array& targets,
                              const CrossEntropyOptions& options, const Tensor& dloss);

}  // namespace qkv
