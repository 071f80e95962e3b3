#pragma once

#include "framework/ops/ops.h"

namespace qkv {

// A matmul whose sums, or those of backward alone, leave out each term with a factor 0, even if the
// other factor is inf or NaN: so masked elements have no effect. Not for bf16.
enum class ZerosWin { kNowhere, kInBackward, kEverywhere };
Tensor masked_matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options = {},
                     ZerosWin zeros = ZerosWin::kEverywhere);

// The op that multiplies, once the axes before the last two are one.
//   a [N or 1, M, K], b [N or 1, K, L], before their flags -> [N, M, L]
Tensor product_of_batches(const Tensor& a, const Tensor& b, const MatmulOptions& options,
                          ZerosWin zeros);

}  // namespace qkv
