#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/functional/function_ref.h"
#include "framework/gradcheck/extrapolation.h"
#include "framework/gradcheck/gradcheck_report.h"
#include "framework/gradcheck/tolerance.h"

// A derivative as differences tell it, for gradcheck.
namespace qkv {

// The step of differences where nothing speaks for another, in units of the scale: small enough
// that the extrapolated difference of a smooth function has no error but rounding's, large enough
// that rounding's stays below the tolerance.
inline constexpr double kDefaultStep = 0x1p-13;
// Rounding makes an error of so many noises once in millions.
inline constexpr double kRareNoise = 32.0;
// The slopes on both sides of the point are half as far apart for half the step, where f is smooth;
// they stay apart where it is more than this.
inline constexpr double kStayApart = 0.75;
// What a derivative that is zero may have left, of the rounding of f over the size of x.
inline constexpr double kZeroRounding = 16.0;

// A derivative, and what is known of it.
struct Slope {
  enum class Kind {
    kSmooth,
    kSmallerSteps,  // strongly bent, but smooth
    kKinkAside,     // smaller steps stayed on one side of a kink
    kKinkHere,      // `left` and `right` differ
    kUnsettled,     // no step settles it
    kNotFinite,
  };
  double value = std::numeric_limits<double>::quiet_NaN();
  double error = std::numeric_limits<double>::infinity();  // an estimate of it
  Kind kind = Kind::kSmooth;
  double left = 0.0, right = 0.0;
  double step = 0.0;  // the smallest that `value` is made of
};

// |analytic - slope| against what the tolerance and the slope's own error allow. `beside` is the
// size of the derivatives beside this one, of which the tolerance is: what is far smaller than
// these may be what rounding left of a zero.
Agreement compare(double analytic, const Slope& slope, const Tolerance& tolerance, double beside);

// What |a - b| may be.
inline double allowed_of(const Tolerance& tolerance, double a, double b, double beside) {
  return tolerance.absolute * beside + tolerance.relative * std::max(std::abs(a), std::abs(b));
}

// Whether a kink stands between two steps, negative ones on the left.
using KinkBetween = absl::FunctionRef<bool(double near, double far)>;

// A derivative's quotients for steps of `first`, first / 2, … on both sides, and what they are held
// against.
struct Sides {
  const Sequence &left, &right;
  double first;  // step
  double noise;  // of the function, in units of the steps
  double analytic, beside;
  Tolerance tolerance;
  double slack;     // what rounding does to `analytic`
  double inside;    // of whatever f computes on the way, in units of the steps
  double rounding;  // that a derivative of zero may be made of

  double allowed(double value) const { return allowed_of(tolerance, analytic, value, beside); }
};

// The derivative, and whether `analytic` may be it. At a first look what is not settled is not
// called zero yet.
Slope slope_of(const Sides& sides, bool first_look, KinkBetween kink_between);

}  // namespace qkv
