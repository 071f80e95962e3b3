#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/core/float128.h"
#include "framework/graph/tensor.h"

// What gradcheck computes with.
namespace qkv {

using Numbers = std::vector<Scalar>;

// The number type that f runs in. Differences take steps of 2^-k of an element's size: three that
// suit a smooth f, and where they do not settle it every `stride`-th from 1/8 to the smallest.
struct Arithmetic {
  DType dtype;
  Scalar roundoff;           // u
  std::array<int, 3> steps;  // k
  int stride, smallest;      // of k
  Scalar coarsest;           // what f may round its values to
  Scalar missed;             // share of a derivative: an error that is larger does not pass
  Scalar unit;               // of f's values

  bool is_f32() const { return unit > roundoff; }
};
// An error that may be missed is no larger than this share of what is judged: a derivative that is
// wrong by a thousandth does not pass.
inline constexpr Scalar kMissed = 0x1p-10;

// kSingle is of an f that takes f32, between casts from f64 and back.
// An f that runs in f128 rounds to nothing coarser. One that reads doubles may hand them to any
// type: bf16 has the fewest digits.
inline constexpr Arithmetic kQuadruple = {DType::f128, 0x1p-113, {15, 27, 39}, 4,
                                          87,          0x1p-113, kMissed,      0x1p-113};
inline constexpr Arithmetic kDouble = {DType::f64, 0x1p-53, {9, 15, 21}, 2,
                                       27,         0x1p-8,  kMissed,     0x1p-53};
inline constexpr Arithmetic kSingle = {DType::f64, 0x1p-53, {1, 2, 3}, 1,
                                       16,         0x1p-8,  0x1p-7,    0x1p-26};

// A constant of a formula that is written as a double is off by 2^-53 of itself. What agrees to a
// few of these has the right formula.
inline constexpr Scalar kOfConstants = 0x1p-50;

// A sum that knows how much cancels in it.
struct Sum {
  Scalar value = 0, size = 0;  // the sum of the terms, and of their absolute values

  void add(Scalar term) { value += term, size += float128::abs(term); }
  void add(const Sum& part) { value += part.value, size += part.size; }
};

Numbers numbers_of(const Tensor& x);  // f32, f64 or f128
std::vector<double> doubles_of(std::span<const Scalar> numbers);
Tensor tensor_of(std::span<const Scalar> numbers, const Shape& shape, DType dtype);
Sum dot(std::span<const Scalar> a, std::span<const Scalar> b);  // an empty one is zero
Scalar largest_of(std::span<const Scalar> x);                   // absolute value

}  // namespace qkv
