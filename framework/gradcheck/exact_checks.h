#pragma once

#include <span>

#include "framework/autograd/tensor_function.h"
#include "framework/core/random.h"
#include "framework/gradcheck/direction_check.h"
#include "framework/gradcheck/gradcheck_report.h"
#include "framework/gradcheck/tolerance.h"

// What derivatives are held against that needs no step: other ways to compute the same number.
namespace qkv {

// Fills in the report's dot_product, forward and composed for one input, along the direction u.
void check_exactly(const Directional& at, size_t input, const Tensor& u, const Tolerance& tolerance,
                   InputReport& report);

// <u, Hw> against <w, Hu>, with H the second derivatives of the dot product of f with `cotangent`.
Agreement check_symmetry(const TensorFunction& f, std::span<const Tensor> inputs,
                         const Tensor& cotangent, const Tolerance& tolerance, RandomStream stream);

}  // namespace qkv
