#pragma once

#include "framework/core/array.h"

namespace qkv::kernels {

// c = op(a) op(b) + bias, where op transposes the last two axes when its flag is set.
//   a [N, M, K] (or [N, K, M] with transpose_a), b [N, K, L] (or [N, L, K] with transpose_b),
//   c [N, M, L]; a or b may have N = 1 and is then used for every product; bias [L] or nullptr.
// f32 and bf16 on oneDNN (bf16 operands give an f32 or bf16 c, accumulated in f32), f64 on plain
// loops. An empty K gives zeros (plus the bias).
void matmul(const Array& a, const Array& b, bool transpose_a, bool transpose_b, const Array* bias,
            Array& c);

// How many oneDNN primitives were created so far; steady work creates none.
int64_t primitives_created();

}  // namespace qkv::kernels
