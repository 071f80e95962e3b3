#pragma once

#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "framework/gradcheck/probe.h"

// Derivatives by differences.
namespace qkv {

// How fast one output of f moves along a direction.
struct Slope {
  Scalar value = 0;
  Scalar error = 0;  // of the value, as the steps and the number type tell
  Scalar left = 0, right = 0;
  Scalar sides_error = 0;  // of left and right
  bool has_kink = false;   // left and right are two limits
  // Whether there are limits: the quotients of each side come nearer to one number as the step
  // shrinks. They do not where f jumps or is infinitely steep, and where every step is too large.
  bool settles = true;
  bool is_rounding = true;  // what the smallest steps differ by is no more than rounding
  Scalar nearby = 0;  // the steeper side of the largest step, as far as it stands above rounding
};

// Of each output, at t = 0 of f(x + t u), from the difference quotients of both sides at three
// steps. Two steps h > k give, without the term in h^p (Richardson 1911),
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

}  // namespace qkv
