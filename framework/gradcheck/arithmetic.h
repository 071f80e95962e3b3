#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "framework/core/float128.h"
#include "framework/core/random.h"
#include "framework/graph/middleware.h"
#include "framework/graph/modes.h"
#include "framework/graph/tensor.h"

// The arithmetic of gradcheck, and the effect of rounding on it.
namespace qkv {

using Numbers = std::vector<Float128>;

// The number type that f runs in. Differences take steps of 2^-k of an element's size: three that
// suit a smooth f, and where they do not settle it every `stride`-th from 1/8 to the smallest.
struct Arithmetic {
  DType dtype;
  Float128 roundoff;         // u
  std::array<int, 3> steps;  // k
  int stride, smallest;      // of k
  Float128 coarsest;         // what f may round its values to
  Float128 missed;           // share of a derivative: an error that is larger does not pass
  Float128 unit;             // of f's values

  bool is_f32() const { return unit > roundoff; }
};
// An error that may be missed is at most this share of the derivative: one that is wrong by a
// thousandth does not pass.
inline constexpr Float128 kMissed = 0x1p-10;

// kSingle is of an f that takes f32, between casts from f64 and back.
// An f that runs in f128 rounds to nothing coarser. One that reads doubles may hand them to any
// type: bf16 has the fewest digits.
inline constexpr Arithmetic kQuadruple = {DType::f128, 0x1p-113, {15, 27, 39}, 4,
                                          87,          0x1p-113, kMissed,      0x1p-113};
inline constexpr Arithmetic kDouble = {DType::f64, 0x1p-53, {9, 15, 21}, 2,
                                       27,         0x1p-8,  kMissed,     0x1p-53};
inline constexpr Arithmetic kSingle = {DType::f64, 0x1p-53, {1, 2, 3}, 1,
                                       16,         0x1p-8,  0x1p-7,    0x1p-26};

// A constant written as a double is off by 2^-53 of itself. A formula that agrees to a few of these
// is right.
inline constexpr Float128 kConstantError = 0x1p-50;

// A sum that knows how much cancels in it.
struct Sum {
  Float128 value = 0, size = 0;  // the sum of the terms, and of their absolute values

  void add(Float128 term) { value += term, size += float128::abs(term); }
  void add(const Sum& part) { value += part.value, size += part.size; }
};

Numbers numbers_of(const Tensor& x);  // f32, f64 or f128
std::vector<double> doubles_of(std::span<const Float128> numbers);
Tensor tensor_of(std::span<const Float128> numbers, const Shape& shape, DType dtype);
Sum dot(std::span<const Float128> a, std::span<const Float128> b);  // an empty one is zero
Float128 largest_of(std::span<const Float128> x);                   // absolute value

// The change by three runs with Roundings, times this, bounds the effect of rounding: it is about
// normal, and the largest of 3 is below 1/4 of a standard deviation with a probability of 0.008.
inline constexpr Float128 kMargin = 32;

// x with each number moved at random by up to `unit` of itself.
Array moved_at_random(const Array& x, Float128 unit, const RandomStream& stream);

// While one lives, each number that an op reads is moved at random by up to `unit` of itself, and
// fused ops run as their parts. The result then differs by about as much as rounding to `unit`
// would change it, also in sums with cancellation.
class Roundings final : public Middleware {
 public:
  Roundings(const RandomStream& stream, Float128 unit)
      : Middleware(Role::kChanges), stream_(stream), unit_(unit) {}

  Tensor forward(const std::shared_ptr<Op>& op, TensorSpan x) override;

 private:
  ComposedOnly composed_only_;
  RandomStream stream_;
  uint64_t moved_ = 0;  // arrays
  Float128 unit_;
};

// The largest change of each number that f gives, over a few runs with roundings. `exact` is f's
// value without them; mutation testing, another middleware, must not have changed that.
std::vector<Numbers> changes_by_rounding(const RandomStream& stream, Float128 unit,
                                         absl::FunctionRef<std::vector<Numbers>()> f);
std::vector<Numbers> changes_by_rounding(const RandomStream& stream, Float128 unit,
                                         absl::FunctionRef<std::vector<Numbers>()> f,
                                         std::span<const Numbers> exact, uint64_t runs = 3);

}  // namespace qkv
