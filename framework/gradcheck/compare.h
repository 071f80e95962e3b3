#pragma once

#include <limits>

#include "framework/gradcheck/gradcheck_report.h"
#include "framework/gradcheck/slopes.h"

namespace qkv {

inline constexpr Scalar kLeastOfF64 = std::numeric_limits<double>::min();

// The slopes of the two sides, of which rounding leaves less, are told to this many times as much.
inline constexpr Scalar kOfSides = 8;

// How large a derivative is beside others, and what the arithmetic may leave of one that is zero.
struct Sizes {
  Scalar beside = 0;    // the derivatives beside it
  Scalar values = 0;    // f over the size of x
  Scalar roundoff = 0;  // u
  Scalar noise = 0;     // of the derivative, as backward rounds it
  Scalar least = 0;     // the smallest effect that is not zero: what a zero is judged by
  Scalar coarsest = 0;  // what f may round its values to

  // A few roundings of each; what f64 has no number for is zero.
  Scalar rounding() const {
    return 0x1p10 * roundoff * (beside + values) + std::numeric_limits<double>::min();
  }
  Sizes operator/(Scalar scale) const {
    return {beside / scale, values / scale, roundoff, noise / scale, least / scale, coarsest};
  }
};

// analytic against a difference. `missed`: see kMissed.
Agreement compare(Scalar analytic, const Slope& slope, const Sizes& sizes, Scalar missed = kMissed);

// Two ways that take no difference, so that nothing but rounding keeps them apart. `size` is that
// of the terms.
Agreement compare_exact(Scalar analytic, Scalar other, Scalar size, Scalar rounding);

// Whether two ways give one derivative, however small. `noise` is what rounding does to it: a
// derivative that it hides is zero for both.
bool tell_the_same(Scalar analytic, Scalar other, Scalar noise);

}  // namespace qkv
