#include "framework/gradcheck/slopes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace qkv {
namespace {

// The quotients of one output for a step h.
struct Quotients {
  Scalar left, right;

  Scalar central() const { return (left + right) / 2; }
  Scalar apart() const { return float128::abs(right - left); }
};

// What a pair of steps h and h / 2 says of one output.
struct Step {
  Slope slope;
  Scalar rounding = 0;        // of the quotients
  Scalar apart = 0;           // of the slopes on both sides, for h / 2
  bool stands_still = false;  // the output does, to the bit
  bool sides_meet = false;    // they are half as far apart for h / 2, as where f is smooth
};

// Between 1/2, where f is smooth, and 1, where it has a kink.
constexpr double kMeet = 0.75;

constexpr Scalar kPoor = 0x1p-24;  // fewer bits of a derivative than these call for another step
constexpr int kStride = 3;         // from there on, a step is 2^3 times the last

Step step_of(const Quotients& whole, const Quotients& half, Scalar rounding) {
  Step step;
  const Scalar value = (4 * half.central() - whole.central()) / 3;
  step.slope = {.value = value,
                .error = float128::abs(value - half.central()) + rounding,
                .left = half.left,
                .right = half.right};
  step.rounding = rounding;
  step.apart = half.apart();
  step.stands_still = whole.left == 0 && whole.right == 0 && half.left == 0 && half.right == 0;
  step.sides_meet = step.apart <= kMeet * whole.apart() + rounding;
  if (!step.sides_meet) step.slope.error += step.apart;
  return step;
}

// Of each output, for a step h.
std::vector<Quotients> quotients_of(const Probe& f, const Direction& u, Scalar h) {
  const Numbers &y = f.value(), above = f.at(u, h), below = f.at(u, -h);
  std::vector<Quotients> all(y.size());
  for (size_t k = 0; k < y.size(); ++k) {
    all[k] = {.left = (y[k] - below[k]) / h, .right = (above[k] - y[k]) / h};
  }
  return all;
}

std::vector<Step> steps_of(const Probe& f, const Direction& u, int exponent) {
  const Scalar h = std::ldexp(1.0, -exponent);
  const std::vector<Quotients> whole = quotients_of(f, u, h), half = quotients_of(f, u, h / 2);
  std::vector<Step> steps(whole.size());
  for (size_t k = 0; k < steps.size(); ++k) {
    steps[k] = step_of(whole[k], half[k], 4 * f.noise()[k] / h);
  }
  return steps;
}

// The same from h, h/2, h/4 and h/8, without the terms in h², h⁴ and h⁶ (Romberg 1955): for steps
// so large that rounding is small beside what f moves.
std::vector<Slope> long_steps_of(const Probe& f, const Direction& u, int exponent) {
  constexpr size_t kLevels = 4;
  const Scalar h = std::ldexp(1.0, -exponent);
  std::array<std::vector<Quotients>, kLevels> levels;
  for (size_t i = 0; i < kLevels; ++i) {
    levels[i] = quotients_of(f, u, h * std::ldexp(1.0, -static_cast<int>(i)));
  }
  std::vector<Slope> slopes(levels[0].size());
  for (size_t k = 0; k < slopes.size(); ++k) {
    std::array<Scalar, kLevels> row;
    for (size_t i = 0; i < kLevels; ++i) row[i] = levels[i][k].central();
    Scalar factor = 1, before = 0;
    for (size_t left = kLevels - 1; left > 0; --left) {
      factor *= 4;
      before = row[left];
      for (size_t i = 0; i < left; ++i) row[i] = row[i + 1] + (row[i + 1] - row[i]) / (factor - 1);
    }
    slopes[k].value = slopes[k].left = slopes[k].right = row[0];
    slopes[k].error = float128::abs(row[0] - before) + 16 * f.noise()[k] / h;
  }
  return slopes;
}

// Whether nothing is gained by another step.
bool is_settled(const Step& step) {
  const Slope& slope = step.slope;
  return step.sides_meet && slope.error <= kOfConstants * float128::abs(slope.value);
}

// A kink leaves the sides as far apart for the smaller of two steps. Where f is smooth they come
// nearer in the ratio of the steps, and rounding sets them apart in that ratio.
bool stay_apart(const Step& larger, const Step& smaller) {
  return !smaller.sides_meet && smaller.apart <= 4 * larger.apart &&
         larger.apart <= 4 * smaller.apart;
}

Scalar distance(const Slope& a, const Slope& b) {
  const Scalar apart = float128::abs(a.value - b.value);
  return float128::is_finite(apart) ? apart : kInfinityOf<Scalar>;
}

bool agree(const Slope& a, const Slope& b) { return distance(a, b) <= 4 * (a.error + b.error); }

// Whether another step may tell more.
bool is_poor(const Slope& slope) { return !(slope.error <= kPoor * float128::abs(slope.value)); }

// Errors are estimates, and a staircase, as of what rounding leaves of log(1 + 1e-40), has none
// that shows. What a step says that disagrees with the one next to it is not believed: the smallest
// is the first to drown in rounding, the largest the first to miss a bend.
Slope best_of(const Slope& large, const Slope& first, const Slope& small) {
  const bool large_agrees = agree(large, first), small_agrees = agree(small, first);
  Slope best = first;
  if (large_agrees && large.error < best.error) best = large;
  if (small_agrees && small.error < best.error) best = small;
  if (large_agrees || small_agrees) return best;
  best = distance(large, first) <= distance(small, first) ? large : small;
  best.error += distance(best, first);
  return best;
}

// One output, with steps that grow or shrink for as long as that tells more.
struct Walk {
  Slope slope;
  bool goes_on = false, has_begun = false;

  void take(Slope step) {
    const bool agrees = agree(step, slope);
    step.error += distance(step, slope);  // a bend that Romberg's series has no term for
    goes_on = goes_on && agrees && step.error < slope.error;
    if (!goes_on) return;
    slope = step;
    has_begun = true;
    goes_on = is_poor(slope);
  }
};

void walk(const Probe& f, const Direction& u, int exponent, int end, std::vector<Walk>& outputs) {
  const int stride = exponent < end ? kStride : -kStride;
  while ((exponent - end) * stride <= 0 && std::ranges::any_of(outputs, &Walk::goes_on)) {
    const std::vector<Slope> steps = long_steps_of(f, u, exponent);
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].take(steps[i]);
    exponent += stride;
  }
}

// k of the largest step: elements move by a quarter of their size, or by 1/4.
int largest_step(const Direction& u) {
  Scalar largest = 0;
  for (const Numbers& moves : u) largest = std::max(largest, largest_of(moves));
  const int power = std::ilogb(static_cast<double>(largest));
  return std::min(2, power + 2);
}

struct Steps {
  std::span<const Step> first, large;
  std::vector<Step> small;
};

void settle(const Probe& f, const Direction& u, const Steps& steps,
            std::span<const size_t> unsettled, Effort effort, std::vector<Slope>& slopes) {
  const auto [middle, low, high] = f.arithmetic().steps;
  std::vector<Walk> larger(slopes.size()), smaller(slopes.size());
  for (const size_t k : unsettled) {
    const Step &first = steps.first[k], &large = steps.large[k], &small = steps.small[k];
    if (stay_apart(first, small)) {
      slopes[k] = small.slope;
      slopes[k].error = small.rounding;
      slopes[k].has_kink = true;
      continue;
    }
    slopes[k] = best_of(large.slope, first.slope, small.slope);
    if (effort == Effort::kUsual || !is_poor(slopes[k])) continue;
    larger[k] = {large.slope, true};
    smaller[k] = {small.slope, true};
  }
  walk(f, u, low - kStride, largest_step(u), larger);
  walk(f, u, high + kStride, high + 5 * kStride, smaller);
  for (const size_t k : unsettled) {
    for (const Walk& walked : {larger[k], smaller[k]}) {
      if (walked.has_begun && walked.slope.error < slopes[k].error) slopes[k] = walked.slope;
    }
  }
}

}  // namespace

std::vector<Slope> slopes_along(const Probe& f, const Direction& u, Effort effort,
                                EnoughSlopes are_enough) {
  const auto [middle, low, high] = f.arithmetic().steps;
  const std::vector<Step> first = steps_of(f, u, middle);
  std::vector<Slope> slopes;
  for (const Step& step : first) slopes.push_back(step.slope);
  if (std::ranges::all_of(first, is_settled) || are_enough(slopes)) return slopes;
  const std::vector<Step> large = steps_of(f, u, low);
  std::vector<size_t> unsettled;
  for (size_t k = 0; k < slopes.size(); ++k) {
    if (is_settled(first[k])) continue;
    const bool is_zero = first[k].stands_still && large[k].stands_still;
    if (is_zero) slopes[k] = large[k].slope;
    if (!is_zero) unsettled.push_back(k);
  }
  if (!unsettled.empty())
    settle(f, u, {first, large, steps_of(f, u, high)}, unsettled, effort, slopes);
  return slopes;
}

}  // namespace qkv
