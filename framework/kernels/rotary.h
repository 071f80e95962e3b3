#pragma once

#include "framework/core/array.h"

namespace qkv::kernels {

// Turns the pairs of each head by an angle that grows with the position p = first + t:
//   y[2i]     = x[2i] cos(p w_i) - x[2i + 1] sin(p w_i)      x, y [B, T, H, D], D even
//   y[2i + 1] = x[2i] sin(p w_i) + x[2i + 1] cos(p w_i)      w_i = 10000^(-2i / D)
// `back`: by -p w_i. x and y may be one array; f32, f64 or bf16.
void rotate_pairs(const Array& x, int64_t first, bool back, Array& y);

}  // namespace qkv::kernels
