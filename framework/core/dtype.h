#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "framework/core/float128.h"

namespace qkv {

// The number types of arrays. f32 is the default; f64 is the type of gradient checks, which compute
// in f128 (see core/wide.h); bf16 is for matrix operands and their direct results; i64 holds
// indices (tokens, targets); boolean holds masks.
enum class DType : uint8_t { f32, f64, f128, bf16, i64, boolean };

// The upper half of a float: 8 bits of exponent, 7 of fraction. Rounds to nearest, ties to even.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    if (value != value) {
      bits = static_cast<uint16_t>((word >> 16) | 0x40);  // a NaN stays one
    } else {
      bits = static_cast<uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16);
    }
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

std::string_view dtype_name(DType dtype);  // "f32"
size_t dtype_bytes(DType dtype);           // bytes of one element
inline bool is_floating(DType dtype) { return dtype <= DType::bf16; }
// The type of arithmetic: bf16 is too coarse for it.
inline DType computed_dtype(DType dtype) { return dtype == DType::bf16 ? DType::f32 : dtype; }

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> : std::integral_constant<DType, DType::f32> {};
template <>
struct DTypeOf<double> : std::integral_constant<DType, DType::f64> {};
template <>
struct DTypeOf<Float128> : std::integral_constant<DType, DType::f128> {};
template <>
struct DTypeOf<BFloat16> : std::integral_constant<DType, DType::bf16> {};
template <>
struct DTypeOf<int64_t> : std::integral_constant<DType, DType::i64> {};
template <>
struct DTypeOf<bool> : std::integral_constant<DType, DType::boolean> {};
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

[[noreturn]] void fail_not_computable(std::string_view op, DType dtype);

// Calls f with a value of the C++ type that stands for `dtype`: f(float()), f(double()),
// f(Float128()). Throws Error for the types that arithmetic is not defined on.
template <class F>
decltype(auto) dispatch_floating(std::string_view op, DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float());
    case DType::f64:
      return f(double());
    case DType::f128:
      return f(Float128());
    default:
      fail_not_computable(op, dtype);
  }
}

// The same for every type, for code that only moves or converts elements.
template <class F>
decltype(auto) dispatch_any(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float());
    case DType::f64:
      return f(double());
    case DType::f128:
      return f(Float128());
    case DType::bf16:
      return f(BFloat16());
    case DType::i64:
      return f(int64_t());
    case DType::boolean:
      break;
  }
  return f(bool());
}

}  // namespace qkv
