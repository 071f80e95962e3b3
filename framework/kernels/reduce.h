#pragma once

#include "framework/core/array.h"

namespace qkv::kernels {

// x is read as [outer, n, inner] and reduced over the middle; y has outer * inner elements. The
// order of summation is fixed: the bits do not depend on the number of threads. An empty n sums to
// 0. The sums of bf16 numbers are f32.
void sum(const Array& x, int64_t outer, int64_t n, int64_t inner, Array& y);

// The largest along n, and where it first stands (i64). A NaN is the largest. n > 0.
void max(const Array& x, int64_t outer, int64_t n, int64_t inner, Array& y, Array& index);

}  // namespace qkv::kernels
