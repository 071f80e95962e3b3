#pragma once

#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "framework/autograd/tensor_function.h"
#include "framework/core/random.h"

// How far the rounding of its inputs alone moves a derivative, for gradcheck.
namespace qkv {

// Two ways to compute a derivative may differ by so many spreads without either being wrong: what
// the first op of each rounds, as the mean of a row, is as if x were another number.
// (Error = condition × backward error: Higham, "Accuracy and Stability of Numerical Algorithms",
// 2002, 1.6.)
inline constexpr double kOfSpread = 8.0;

// The most that each number of `of` moves where the inputs are replaced by numbers beside them; an
// exact zero stays.
std::vector<double> spread_of(
    absl::FunctionRef<std::vector<double>(std::span<const Tensor> inputs)> of,
    std::span<const Tensor> inputs, const RandomStream& stream);

}  // namespace qkv
