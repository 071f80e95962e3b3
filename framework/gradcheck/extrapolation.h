#pragma once

#include <limits>
#include <vector>

// Derivatives from difference quotients for steps that are halved again and again.
namespace qkv {

using Sequence = std::vector<double>;  // quotients, those of the largest steps first

struct Estimate {
  double value = std::numeric_limits<double>::quiet_NaN();
  double error = std::numeric_limits<double>::infinity();
  double step = 0.0;         // the smallest that it is made of
  bool sides_apart = false;  // what the left and the right give do not approach each other
};

// lim D(h) for h -> 0, from D(h), D(h / 2), D(h / 4). Central quotients are D + c2 h² + c4 h⁴ + …
// (base 4), one-sided ones D + c1 h + c2 h² + … (base 2); each column cancels one more power.
// Richardson, "The deferred approach to the limit", 1927.
Estimate extrapolate(const double* d, double base);

using Windows = std::vector<Estimate>;  // the estimates of all scales, the largest steps first

// The estimates from quotients for the steps `first`, first / 2, first / 4, … of a function with
// that noise at the point; `moved` is how far it moves with each step, which is rounded, too.
Windows extrapolate_all(const Sequence& quotients, const Sequence& moved, double first, double base,
                        double noise);

// A scale settles nearly as well as the best if its error is at most this many times the smallest.
inline constexpr double kNearlyAsWell = 4.0;

// The estimate of a scale that settles best or nearly so, preferably one where both sides agree.
// Its error includes the difference from the other ones.
Estimate best_of(const Windows& windows);

// The median error. Where nothing settles, the smallest error is small by chance.
double middle_error(const Windows& windows);

}  // namespace qkv
