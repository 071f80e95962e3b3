#pragma once

#include <limits>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "framework/gradcheck/gradcheck_report.h"
#include "framework/gradcheck/probe.h"

// Derivatives by differences, and whether those of backward agree with them.
namespace qkv {

// How fast one output of f moves along a direction.
struct Slope {
  Float128 value = 0;
  Float128 error = 0;  // of the value, as the steps and the number type tell
  Float128 left = 0, right = 0;
  Float128 sides_error = 0;  // of left and right
  bool has_kink = false;     // left and right are two limits
  // Whether there are limits: the quotients of each side come nearer to one number as the step
  // shrinks. They do not where f jumps or is infinitely steep, and where every step is too large.
  bool settles = true;
  bool is_rounding = true;  // the smallest steps differ by rounding only
  Float128 nearby = 0;  // the steeper side of the largest step, as far as it stands above rounding
};

// The slope of each output, at t = 0 of f(x + t u), from the difference quotients of both sides at
// three steps. Two steps h > k give, without the term in h^p (Richardson 1911),
//   y' = (h^p c(k) - k^p c(h)) / (h^p - k^p)
// with p = 2 for the mean of both sides and p = 1 for half their difference. A third step gives
// another such number, and the error is how far the two are apart, with what rounding does at the
// smallest step.
//
// Where three steps leave an output unsettled and its slopes are not enough for the caller, every
// step of the arithmetic is taken. From the smallest to the largest, three neighbours each tell a
// limit, and the closest is taken of those that no smaller step contradicts.
using EnoughSlopes = absl::FunctionRef<bool(std::span<const Slope>)>;
std::vector<Slope> slopes_along(
    const Probe& f, const Direction& u,
    EnoughSlopes are_enough = [](std::span<const Slope>) { return false; });

// How steep each output is when x goes so far along u, by steps of 1, 2, 4 …, that it moves at all:
// a derivative that rounding hides beside a large number shows as a small slope. Infinite where the
// output stands still to the bit; very large where it is not finite before it moves.
Numbers slopes_from_afar(const Probe& f, const Direction& u);

inline constexpr Float128 kMinF64 = std::numeric_limits<double>::min();

// Rounding leaves less of the slopes of the two sides: their tolerance is this many times as large.
inline constexpr Float128 kSideMargin = 8;

// How large a derivative is beside others, and what the arithmetic may leave of one that is zero.
struct Sizes {
  Float128 beside = 0;    // the derivatives beside it
  Float128 values = 0;    // f over the size of x
  Float128 roundoff = 0;  // u
  Float128 noise = 0;     // of the derivative, as backward rounds it
  Float128 least = 0;     // the smallest effect that is not zero, to judge a zero by
  Float128 coarsest = 0;  // what f may round its values to

  // A few roundings of each; what f64 has no number for is zero.
  Float128 rounding() const {
    return 0x1p10 * roundoff * (beside + values) + std::numeric_limits<double>::min();
  }
  Sizes operator/(Float128 scale) const {
    return {beside / scale, values / scale, roundoff, noise / scale, least / scale, coarsest};
  }
};

// analytic against a difference. `missed`: see kMissed.
Agreement compare(Float128 analytic, const Slope& slope, const Sizes& sizes,
                  Float128 missed = kMissed);

// Two ways that take no difference, so that nothing but rounding keeps them apart. `size` is that
// of the terms.
Agreement compare_exact(Float128 analytic, Float128 other, Float128 size, Float128 rounding);

// Whether two ways give one derivative, however small. `noise` is the effect of rounding on it: a
// derivative that it hides is zero for both.
bool tell_the_same(Float128 analytic, Float128 other, Float128 noise);

}  // namespace qkv
