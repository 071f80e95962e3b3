#pragma once

#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "framework/autograd/tensor_function.h"
#include "framework/core/random.h"

// How far the rounding of its inputs alone moves a derivative, for gradcheck.
namespace qkv {

// Two correct ways to compute a derivative may differ by this many spreads: a rounding in the first
// op of each, for example of the mean of a row, acts like a change of x.
// (Error = condition × backward error: Higham, "Accuracy and Stability of Numerical Algorithms",
// 2002, 1.6.)
inline constexpr double kAllowedSpreads = 8.0;

// The largest change of each number of `of` when the inputs are replaced by neighbouring numbers;
// an exact zero stays zero.
std::vector<double> spread_of(
    absl::FunctionRef<std::vector<double>(std::span<const Tensor> inputs)> of,
    std::span<const Tensor> inputs, const RandomStream& stream);

}  // namespace qkv
