#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "framework/core/array.h"

namespace qkv {

inline std::span<std::byte> bytes_in(Array& array) {
  return {static_cast<std::byte*>(array.mutable_raw()), array.bytes()};
}
inline std::span<const std::byte> bytes_in(const Array& array) {
  return {static_cast<const std::byte*>(array.raw()), array.bytes()};
}

// Copies `count` elements between arrays of one dtype, from the given places on.
inline void copy_elements(const Array& from, int64_t from_begin, Array& to, int64_t to_begin,
                          int64_t count) {
  if (count == 0) return;
  const size_t bytes = dtype_bytes(from.dtype());
  std::memcpy(static_cast<std::byte*>(to.mutable_raw()) + static_cast<size_t>(to_begin) * bytes,
              static_cast<const std::byte*>(from.raw()) + static_cast<size_t>(from_begin) * bytes,
              static_cast<size_t>(count) * bytes);
}

}  // namespace qkv
