#pragma once

#include "framework/nn/module.h"

namespace qkv {

// The fixed encoding of Vaswani et al. 2017, [length, d_model]:
//   e[t, 2i] = sin(t / 10000^(2i / d_model)),  e[t, 2i + 1] = cos(t / 10000^(2i / d_model))
// Position t + k is a rotation of position t by an angle that depends on k alone.
Tensor sinusoidal_positions(int64_t length, int64_t d_model, DType dtype);

}  // namespace qkv
