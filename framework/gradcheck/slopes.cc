#include "framework/gradcheck/slopes.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_format.h"

namespace qkv {
namespace {

// Rounding moves f by 4 times its noise on each side. A number stays within 4 times its error:
// together kMargin.
constexpr Float128 kNoiseMargin = 8;
constexpr Float128 kErrorMargin = 4;
static_assert(kNoiseMargin * kErrorMargin == kMargin);

constexpr Float128 kSteep = 0x1p1000;  // from afar, where f is not finite
constexpr Float128 kSmaller = 0.75;    // what comes nearer to a limit is apart by so much less

// The quotients of every output for a step h.
struct Quotients {
  Float128 h = 0;
  Numbers left = {}, right = {}, noise = {};

  Float128 middle(size_t k) const { return (left[k] + right[k]) / 2; }
  Float128 half_gap(size_t k) const { return (right[k] - left[k]) / 2; }
};

Quotients quotients_of(const Probe& f, const Direction& u, Float128 h) {
  const Numbers &y = f.value(), above = f.at(u, h), below = f.at(u, -h);
  Quotients q = {.h = h};
  for (size_t k = 0; k < y.size(); ++k) {
    q.left.push_back((y[k] - below[k]) / h);
    q.right.push_back((above[k] - y[k]) / h);
    const Float128 size = std::max(float128::abs(above[k]), float128::abs(below[k]));
    q.noise.push_back(kNoiseMargin * std::max(f.noise()[k], f.arithmetic().unit * size) / h);
  }
  return q;
}

struct Limit {
  Float128 value = 0, error = 0;
  bool settles = true, is_rounding = true;  // as in Slope
};

// The limits of one kind of quotient, for steps from the largest to the smallest.
class Limits {
 public:
  using Quotient = Float128 (Quotients::*)(size_t) const;
  Limits(std::span<const Quotients> steps, int power, Quotient quotient)
      : steps_(steps), quotient_(quotient) {
    for (size_t i = 0; i + 1 < steps.size(); ++i) {
      const Float128 ratio = steps[i + 1].h / steps[i].h, r = power == 2 ? ratio * ratio : ratio;
      weights_.push_back(r / (1 - r));
    }
  }

  Limit of(size_t k) const {
    size_t i = steps_.size() - 3;
    Limit limit = of_three(i, k);
    limit.is_rounding = limit.error <= (kErrorMargin + 1) * steps_.back().noise[k];
    limit.settles = settles(k);
    while (i-- > 0) {
      const Limit larger = of_three(i, k);
      if (is_contradicted(larger, i, k)) break;
      if (larger.error < limit.error) limit.value = larger.value, limit.error = larger.error;
    }
    return limit;
  }

 private:
  Float128 at(size_t i, size_t k) const { return (steps_[i].*quotient_)(k); }
  Float128 without_term(size_t i, size_t k) const {
    return at(i + 1, k) + (at(i + 1, k) - at(i, k)) * weights_[i];
  }
  Limit of_three(size_t i, size_t k) const {
    const Float128 value = without_term(i + 1, k);
    return {value, float128::abs(value - without_term(i, k)) + steps_[i + 2].noise[k]};
  }

  // Whether a smaller step is further from the limit than the last of the three, by more than
  // rounding: then they miss a bend.
  bool is_contradicted(const Limit& limit, size_t i, size_t k) const {
    const auto apart = [&](size_t j) { return float128::abs(at(j, k) - limit.value); };
    for (size_t j = i + 3; j < steps_.size(); ++j) {
      const Float128 allowed = apart(i + 2) + kErrorMargin * (steps_[j].noise[k] + limit.error);
      if (!(apart(j) <= allowed)) return true;
    }
    return false;
  }

  Float128 rounding(size_t i, size_t k) const {
    return kErrorMargin * (steps_[i].noise[k] + steps_[i + 1].noise[k]);
  }

  // Whether the last two steps that differ by more than rounding differ by less than those before
  // them; or those after them do.
  bool settles(size_t k) const {
    const auto apart = [&](size_t i) { return float128::abs(at(i, k) - at(i + 1, k)); };
    const size_t pairs = steps_.size() - 1;
    size_t last = pairs;
    for (size_t i = 0; i < pairs; ++i) {
      if (!(apart(i) <= rounding(i, k))) last = i;
    }
    if (last == pairs || last == 0) return true;
    if (last + 1 < pairs && rounding(last + 1, k) <= kSmaller * apart(last)) return true;
    const Float128 before = std::max(apart(last - 1), apart(last == 1 ? 0 : last - 2));
    return !(apart(last) > kSmaller * before);
  }

  std::span<const Quotients> steps_;
  Quotient quotient_;
  std::vector<Float128> weights_;
};

class Slopes {
 public:
  Slopes(const Probe& f, std::span<const Quotients> steps)
      : f_(f),
        largest_(steps[0]),
        middles_(steps, 2, &Quotients::middle),
        half_gaps_(steps, 1, &Quotients::half_gap) {}

  Slope of(size_t k) const {
    const Limit middle = middles_.of(k), half_gap = half_gaps_.of(k);
    Slope slope = {.value = middle.value,
                   .error = middle.error,
                   .left = middle.value - half_gap.value,
                   .right = middle.value + half_gap.value,
                   .sides_error = middle.error + half_gap.error};
    const Float128 size = std::max(float128::abs(slope.left), float128::abs(slope.right));
    slope.has_kink =
        float128::abs(half_gap.value) > kErrorMargin * half_gap.error + kConstantError * size;
    slope.settles = middle.settles && half_gap.settles && !f_.is_rough(k);
    slope.is_rounding = middle.is_rounding && half_gap.is_rounding;
    const Float128 steepest =
        std::max(float128::abs(largest_.left[k]), float128::abs(largest_.right[k]));
    slope.nearby = std::max(Float128(0), steepest - kErrorMargin * largest_.noise[k]);
    return slope;
  }

 private:
  const Probe& f_;
  const Quotients& largest_;
  Limits middles_, half_gaps_;
};

// Whether nothing is gained by another step.
bool is_settled(const Slope& slope) {
  const Float128 size = float128::abs(slope.value);
  return slope.settles && !slope.has_kink && slope.error <= kConstantError * size &&
         slope.sides_error <= kConstantError * size;
}

// k of the largest step: elements move by a quarter of their size at most, or by 1/4.
int largest_step(const Arithmetic& arithmetic, const Direction& u) {
  Float128 largest = 0;
  for (const Numbers& moves : u) largest = std::max(largest, largest_of(moves));
  const int power = std::ilogb(static_cast<double>(largest));
  int step = std::min(3, arithmetic.steps[0]);
  while (step - arithmetic.stride >= power + 3) step -= arithmetic.stride;
  return step;
}

constexpr Float128 kEstimateMargin = 4;  // an estimate of an error may be too small by this factor

Agreement agreement_of(Float128 analytic, Float128 numeric, Float128 estimated_error,
                       Float128 tolerance) {
  return {.analytic = analytic,
          .numeric = numeric,
          .error = static_cast<double>(float128::abs(analytic - numeric)),
          .estimated_error = static_cast<double>(estimated_error),
          .tolerance = static_cast<double>(tolerance)};
}

}  // namespace

std::vector<Slope> slopes_along(const Probe& f, const Direction& u, EnoughSlopes are_enough) {
  const Arithmetic& arithmetic = f.arithmetic();
  std::vector<Quotients> steps;  // from the largest
  for (const int k : arithmetic.steps) steps.push_back(quotients_of(f, u, f.step(k)));
  std::vector<Slope> slopes(f.value().size());
  const Slopes three(f, steps);
  for (size_t i = 0; i < slopes.size(); ++i) slopes[i] = three.of(i);
  if (std::ranges::all_of(slopes, is_settled) || are_enough(slopes)) return slopes;
  for (int k = largest_step(arithmetic, u); k <= arithmetic.smallest; k += arithmetic.stride) {
    if (std::ranges::count(arithmetic.steps, k) > 0) continue;
    steps.push_back(quotients_of(f, u, f.step(k)));
  }
  std::ranges::sort(steps, std::greater(), &Quotients::h);
  const Slopes all(f, steps);
  for (size_t i = 0; i < slopes.size(); ++i) {
    if (!is_settled(slopes[i])) slopes[i] = all.of(i);
  }
  return slopes;
}

Numbers slopes_from_afar(const Probe& f, const Direction& u) {
  constexpr int kFar = 60;
  const size_t outputs = f.value().size();
  const auto slopes_at = [&](int k) {
    Numbers slopes(outputs, kInfinityOf<Float128>);
    for (const double h : {std::ldexp(1.0, k), -std::ldexp(1.0, k)}) {
      Numbers y(outputs, kInfinityOf<Float128>);
      try {
        y = f.at(u, h);
      } catch (const std::exception&) {  // f need not take such numbers
      }
      for (size_t i = 0; i < outputs; ++i) {
        const Float128 move = float128::abs(y[i] - f.value()[i]);
        const Float128 slope = float128::is_finite(move) ? move / std::abs(h) : kSteep;
        if (slope > 0) slopes[i] = std::min(slopes[i], slope);
      }
    }
    return slopes;
  };
  const auto moves = [](Float128 slope) { return float128::is_finite(slope); };
  const Numbers farthest = slopes_at(kFar);
  Numbers first(outputs, kInfinityOf<Float128>);
  for (int k = f.arithmetic().is_f32() ? -f.arithmetic().smallest : 0;
       k < kFar && std::ranges::count_if(first, moves) < std::ranges::count_if(farthest, moves);
       ++k) {
    const Numbers slopes = slopes_at(k);
    for (size_t i = 0; i < outputs; ++i) {
      if (!moves(first[i])) first[i] = slopes[i];
    }
  }
  return first;
}

Agreement compare(Float128 analytic, const Slope& slope, const Sizes& sizes, Float128 missed) {
  const Float128 largest = std::max(float128::abs(analytic), float128::abs(slope.value));
  const Float128 tolerance =
      kEstimateMargin * slope.error + kConstantError * largest + sizes.rounding();
  Agreement result = agreement_of(analytic, slope.value, slope.error, tolerance);
  const auto no_pass = [&](Verdict verdict, std::string_view note) {
    result.verdict = verdict;
    result.note = note;
    return result;
  };
  if (!float128::is_finite(analytic)) return no_pass(Verdict::kFail, "the gradient is not finite");
  if (!float128::is_finite(slope.value) || !float128::is_finite(slope.error)) {
    return no_pass(Verdict::kUndecided, "the function is not finite near the point");
  }
  if (!slope.settles) {
    return no_pass(
        Verdict::kUndecided,
        absl::StrFormat("the slopes do not settle as the step shrinks: %.6g on the left, "
                        "%.6g on the right",
                        static_cast<double>(slope.left), static_cast<double>(slope.right)));
  }
  const Float128 sides_error = kEstimateMargin * slope.sides_error;
  if (slope.has_kink) {
    const auto [low, high] = std::minmax(slope.left, slope.right);
    const Float128 allowed = std::max(tolerance, sides_error);
    const bool is_between = low - allowed <= analytic && analytic <= high + allowed;
    return no_pass(
        is_between ? Verdict::kUndecided : Verdict::kFail,
        absl::StrFormat("a kink at the point: slope %.6g on the left, %.6g on the right%s",
                        static_cast<double>(slope.left), static_cast<double>(slope.right),
                        is_between ? "" : "; the gradient is not between them"));
  }
  constexpr std::string_view kHides = "rounding hides the derivative";
  if (float128::abs(analytic - slope.value) > tolerance) {
    // Where f stands still, its values may be too coarse to show the derivative, or its numbers.
    const Float128 still =
        std::max(kMissed * sizes.values, kConstantError * float128::abs(analytic));
    const bool is_resolved = float128::abs(slope.value) > tolerance
                                 ? tolerance <= missed * float128::abs(slope.value)
                                 : slope.is_rounding && kEstimateMargin * slope.error <= still &&
                                       float128::abs(analytic) >= 4 * sizes.coarsest * sizes.values;
    return no_pass(is_resolved ? Verdict::kFail : Verdict::kUndecided, is_resolved ? "" : kHides);
  }
  // A derivative that f's rounding hides need not be zero: only backward's rounding of a zero is.
  const bool is_zero = float128::abs(analytic) <= std::min(sizes.rounding(), sizes.noise + kMinF64);
  const Float128 judged = !is_zero ? largest : sizes.least > 0 ? sizes.least : slope.nearby;
  if (std::max(tolerance, sides_error / kSideMargin) > missed * judged + 4 * kMinF64) {
    result.is_hidden = slope.is_rounding;
    return no_pass(Verdict::kUndecided, result.is_hidden ? kHides : "the slopes do not settle");
  }
  return result;
}

bool tell_the_same(Float128 analytic, Float128 other, Float128 noise) {
  const Float128 largest = std::max(float128::abs(analytic), float128::abs(other));
  const Float128 error = float128::abs(analytic - other);
  return error <= kConstantError * largest ||
         (error <= noise && (noise <= kMissed * largest || largest <= noise));
}

Agreement compare_exact(Float128 analytic, Float128 other, Float128 size, Float128 rounding) {
  const Float128 tolerance = kConstantError * size + rounding;
  Agreement result = agreement_of(analytic, other, 0, tolerance);
  const bool agrees = float128::abs(analytic - other) <= tolerance;  // a NaN does not
  result.verdict = agrees ? Verdict::kPass : Verdict::kFail;
  return result;
}

}  // namespace qkv
