#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "framework/core/array.h"
#include "framework/core/dtype.h"

namespace qkv::kernels {

// computed_dtype, of C++ types.
template <class T>
using Computed = std::conditional_t<std::is_same_v<T, BFloat16>, float, T>;

// The types in which kernels add up, and compute their arguments.
template <class T>
using ScalarOf = std::conditional_t<std::is_same_v<T, Float128>, Float128, double>;

template <class To, class From>
inline To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, BFloat16>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return BFloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else {
    return static_cast<To>(value);
  }
}

// Like dispatch_floating, also with a BFloat16 for bf16.
template <class F>
decltype(auto) dispatch_stored(std::string_view op, DType dtype, F&& f) {
  if (dtype == DType::bf16) return f(BFloat16());
  return dispatch_floating(op, dtype, f);
}

// The elements of a boolean array as numbers, 0 or 1: g++ 12 makes vector instructions of
// `m[i] != 0 ? a : b` for bytes, and not for bool.
inline const uint8_t* mask_bytes(const Array& mask) {
  return reinterpret_cast<const uint8_t*>(mask.data<bool>());
}
inline uint8_t* mutable_mask_bytes(Array& mask) {
  return reinterpret_cast<uint8_t*>(mask.mutable_data<bool>());
}

}  // namespace qkv::kernels
