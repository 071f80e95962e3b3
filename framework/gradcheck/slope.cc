#include "framework/gradcheck/slope.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "framework/gradcheck/epsilon.h"

namespace qkv {
namespace {

// A slope whose error is within so many tolerances counts as settled.
constexpr double kLoose = 1e3;

// Where f leaves its tangent as it does nowhere nearer, a kink may stand: |f(x ± h) - f(x) ∓ h
// slope| is about c h² on the near side of a kink, and much more beyond it.
bool has_kink_aside(const Sequence& quotients, double first, double side, double slope,
                    double noise, KinkBetween kink_between) {
  double step = first;
  for (size_t k = 0; k + 1 < quotients.size(); ++k, step /= 2.0) {
    const double far = std::abs(quotients[k] - slope) * step;
    const double near = std::abs(quotients[k + 1] - slope) * step / 2.0;
    const bool leaves = far > 64.0 * std::max(near, 16.0 * noise);
    if (leaves && kink_between(side * 0.375 * step, side * step)) return true;
  }
  return false;
}

// How far f moves with each step, on the side where it moves more.
Sequence moved_by(const Sides& sides) {
  Sequence moved(sides.left.size());
  double step = sides.first;
  for (size_t k = 0; k < moved.size(); ++k, step /= 2.0) {
    moved[k] = step * std::max(std::abs(sides.left[k]), std::abs(sides.right[k]));
  }
  return moved;
}

// The slopes on both sides approach each other as h does where f is smooth at that scale. Where
// they do not, as beside a peak that is narrower than h, the middle of both may be anything
// between; and where rounding hides whether they do, it is as for the larger steps.
void doubt_where_sides_stay_apart(const Sides& sides, const Sequence& moved, Windows& windows) {
  constexpr double kFarApart = 0.1;
  bool stay_apart = false;
  for (size_t k = 0; k < windows.size(); ++k) {
    const auto apart = [&](size_t step) { return std::abs(sides.right[step] - sides.left[step]); };
    const double far = apart(k + 1), near = apart(k + 2), noise = sides.noise + kEpsilon * moved[k];
    const double rounding_error = kRareNoise * noise / windows[k].step;
    if (near > kStayApart * far + rounding_error) {
      stay_apart = true;
    } else if (far > rounding_error && near <= kStayApart * far) {
      stay_apart = false;
    }
    if (!stay_apart) continue;
    const double slope = std::max(std::abs(sides.left[k + 2]), std::abs(sides.right[k + 2]));
    windows[k].error = std::max(windows[k].error, near);
    windows[k].sides_apart = near > std::max(kFarApart * slope, rounding_error);
  }
}

// Both sides; or one, where the function ends at the point.
Estimate estimate_of(const Sides& sides, Windows& windows) {
  Sequence central(sides.left.size());
  for (size_t k = 0; k < central.size(); ++k) {
    central[k] = 0.5 * (sides.left[k] + sides.right[k]);
  }
  const Sequence moved = moved_by(sides);
  windows = extrapolate_all(central, moved, sides.first, 4.0, sides.noise);
  doubt_where_sides_stay_apart(sides, moved, windows);
  const auto finite = [](const Sequence& quotients) {
    return std::ranges::any_of(quotients, [](double q) { return std::isfinite(q); });
  };
  if (finite(central) || finite(sides.left) == finite(sides.right)) return best_of(windows);
  const Sequence& defined = finite(sides.left) ? sides.left : sides.right;
  windows = extrapolate_all(defined, moved, sides.first, 2.0, sides.noise);
  return best_of(windows);
}

// Whether differences can tell the derivative as closely as it is asked for, or as closely as the
// rounding of f lets any.
bool is_settled(const Sides& sides, const Estimate& estimate) {
  if (estimate.sides_apart) return false;
  return estimate.error <=
             kLoose * allowed_of(sides.tolerance, estimate.value, 0.0, sides.beside) ||
         estimate.error <= kNearlyAsWell * kRareNoise * sides.noise / estimate.step;
}

// A derivative that changes f by no more than its rounding, over the whole size of x, is a zero
// with what rounding left of it: differences must not contradict it, and need not tell it closely.
bool is_zero(const Sides& sides, const Estimate& estimate) {
  return !estimate.sides_apart && std::abs(sides.analytic) <= kZeroRounding * sides.rounding &&
         std::abs(sides.analytic - estimate.value) <=
             estimate.error + kZeroRounding * sides.rounding;
}

}  // namespace

Slope slope_of(const Sides& sides, bool first_look, KinkBetween kink_between) {
  Windows windows;
  const Estimate best = estimate_of(sides, windows);
  Slope slope = {.value = best.value,
                 .error = best.error + kRareNoise * sides.inside / best.step + sides.slack,
                 .step = best.step};
  if (!first_look && is_zero(sides, best)) {
    slope.error += kZeroRounding * sides.rounding;
    return slope;
  }
  if (!std::isfinite(slope.value)) {
    slope.kind = Slope::Kind::kNotFinite;
    return slope;
  }
  const bool settled = is_settled(sides, best);
  if (settled &&
      std::abs(sides.analytic - slope.value) <= sides.allowed(slope.value) + slope.error) {
    const auto kink_on = [&](const Sequence& quotients, double side) {
      return has_kink_aside(quotients, sides.first, side, slope.value, sides.noise, kink_between);
    };
    if (kink_on(sides.left, -1.0) || kink_on(sides.right, 1.0)) {
      slope.kind = Slope::Kind::kKinkAside;
    } else if (best.step < 0.5 * kDefaultStep) {
      slope.kind = Slope::Kind::kSmallerSteps;
    }
    return slope;
  }
  const Sequence moved = moved_by(sides);
  const Estimate l = best_of(extrapolate_all(sides.left, moved, sides.first, 2.0, sides.noise));
  const Estimate r = best_of(extrapolate_all(sides.right, moved, sides.first, 2.0, sides.noise));
  const double jump = std::abs(l.value - r.value);
  if (jump > 10.0 * (l.error + r.error) &&
      jump > allowed_of(sides.tolerance, l.value, r.value, sides.beside)) {
    const double reach = 4.0 * std::max(l.step, r.step);
    const bool kink = kink_between(-reach, reach);
    slope.kind = kink ? Slope::Kind::kKinkHere : Slope::Kind::kUnsettled;
    slope.left = l.value;
    slope.right = r.value;
    slope.error = sides.slack + (kink ? std::max(l.error, r.error) : jump);
  } else if (!settled) {
    slope.kind = Slope::Kind::kUnsettled;
    slope.error = middle_error(windows) + sides.slack;
  }
  return slope;
}

Agreement compare(double analytic, const Slope& slope, const Tolerance& tolerance, double beside) {
  Agreement result = {
      .analytic = analytic,
      .numeric = slope.value,
      .error = std::abs(analytic - slope.value),
      .estimated_error = slope.error,
      .tolerance = allowed_of(tolerance, analytic, slope.value, beside) + slope.error};
  const auto conclude = [&](Verdict verdict, std::string note) {
    result.verdict = verdict;
    result.note = std::move(note);
    return result;
  };
  if (!std::isfinite(analytic)) return conclude(Verdict::kFail, "the gradient is not finite");
  if (slope.kind == Slope::Kind::kNotFinite || !std::isfinite(slope.value)) {
    return conclude(Verdict::kFail, "the function is not finite near the point");
  }
  if (slope.kind == Slope::Kind::kKinkHere) {
    const auto [low, high] = std::minmax(slope.left, slope.right);
    const std::string sides = absl::StrFormat(
        "a kink at the point: slope %.6g on the left, %.6g on the right", slope.left, slope.right);
    if (analytic >= low - result.tolerance && analytic <= high + result.tolerance) {
      return conclude(Verdict::kUndecided, sides + "; move_by checks beside it");
    }
    return conclude(Verdict::kFail, sides + "; the gradient is not between them");
  }
  if (slope.kind == Slope::Kind::kUnsettled) {
    const bool apart = result.error > 10.0 * slope.error;
    return conclude(apart ? Verdict::kFail : Verdict::kUndecided,
                    "the difference quotients converge at no step size");
  }
  if (!(result.error <= result.tolerance)) return conclude(Verdict::kFail, "");
  if (slope.kind == Slope::Kind::kKinkAside) result.note = "a kink near the point: smaller steps";
  if (slope.kind == Slope::Kind::kSmallerSteps) result.note = "smaller steps";
  return result;
}

}  // namespace qkv
