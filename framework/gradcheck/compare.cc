#include "framework/gradcheck/compare.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace qkv {
namespace {

constexpr Scalar kOfEstimate = 4;  // an estimate of an error may be too small by this factor

Agreement agreement_of(Scalar analytic, Scalar numeric, Scalar estimated_error, Scalar tolerance) {
  return {.analytic = analytic,
          .numeric = numeric,
          .error = static_cast<double>(float128::abs(analytic - numeric)),
          .estimated_error = static_cast<double>(estimated_error),
          .tolerance = static_cast<double>(tolerance)};
}

}  // namespace

Agreement compare(Scalar analytic, const Slope& slope, const Sizes& sizes, Scalar missed) {
  const Scalar largest = std::max(float128::abs(analytic), float128::abs(slope.value));
  const Scalar tolerance = kOfEstimate * slope.error + kOfConstants * largest + sizes.rounding();
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
  const Scalar sides_error = kOfEstimate * slope.sides_error;
  if (slope.has_kink) {
    const auto [low, high] = std::minmax(slope.left, slope.right);
    const Scalar allowed = std::max(tolerance, sides_error);
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
    const Scalar still = std::max(kMissed * sizes.values, kOfConstants * float128::abs(analytic));
    const bool is_told = float128::abs(slope.value) > tolerance
                             ? tolerance <= missed * float128::abs(slope.value)
                             : slope.is_rounding && kOfEstimate * slope.error <= still &&
                                   float128::abs(analytic) >= 4 * sizes.coarsest * sizes.values;
    return no_pass(is_told ? Verdict::kFail : Verdict::kUndecided, is_told ? "" : kHides);
  }
  // What f's rounding hides need not be zero: only what backward leaves of a zero is.
  const bool is_zero =
      float128::abs(analytic) <= std::min(sizes.rounding(), sizes.noise + kLeastOfF64);
  const Scalar judged = !is_zero ? largest : sizes.least > 0 ? sizes.least : slope.nearby;
  if (std::max(tolerance, sides_error / kOfSides) > missed * judged + 4 * kLeastOfF64) {
    result.is_hidden = slope.is_rounding;
    return no_pass(Verdict::kUndecided, result.is_hidden ? kHides : "the slopes do not settle");
  }
  return result;
}

bool tell_the_same(Scalar analytic, Scalar other, Scalar noise) {
  const Scalar largest = std::max(float128::abs(analytic), float128::abs(other));
  const Scalar error = float128::abs(analytic - other);
  return error <= kOfConstants * largest ||
         (error <= noise && (noise <= kMissed * largest || largest <= noise));
}

Agreement compare_exact(Scalar analytic, Scalar other, Scalar size, Scalar rounding) {
  const Scalar tolerance = kOfConstants * size + rounding;
  Agreement result = agreement_of(analytic, other, 0, tolerance);
  const bool agrees = float128::abs(analytic - other) <= tolerance;  // a NaN does not
  result.verdict = agrees ? Verdict::kPass : Verdict::kFail;
  return result;
}

}  // namespace qkv
