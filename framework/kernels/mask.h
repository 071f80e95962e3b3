#pragma once

#include <cstdint>

#include "framework/core/array.h"

namespace qkv::kernels {

// The elements of a boolean array as numbers, 0 or 1: g++ 12 makes vector instructions of
// `m[i] != 0 ? a : b` for bytes, and not for bool.
inline const uint8_t* mask_bytes(const Array& mask) {
  return reinterpret_cast<const uint8_t*>(mask.data<bool>());
}
inline uint8_t* mutable_mask_bytes(Array& mask) {
  return reinterpret_cast<uint8_t*>(mask.mutable_data<bool>());
}

}  // namespace qkv::kernels
