#include "framework/gradcheck/compare.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace qkv {
namespace {

constexpr Scalar kOfEstimate = 4;    // an estimate of an error may be too small by this factor
constexpr Scalar kTells = 0x1p-4;    // an agreement that tells fewer bits is none
constexpr Scalar kOfZero = 0x1p-30;  // the same of a zero, of the sizes around it

Agreement agreement_of(Scalar analytic, Scalar numeric, Scalar estimated_error, Scalar tolerance) {
  return {.analytic = analytic,
          .numeric = numeric,
          .error = static_cast<double>(float128::abs(analytic - numeric)),
          .estimated_error = static_cast<double>(estimated_error),
          .tolerance = static_cast<double>(tolerance)};
}

}  // namespace

Agreement compare(Scalar analytic, const Slope& slope, const Sizes& sizes) {
  const Scalar largest = std::max(float128::abs(analytic), float128::abs(slope.value));
  const Scalar tolerance = kOfEstimate * slope.error + kOfConstants * largest + sizes.rounding();
  Agreement result = agreement_of(analytic, slope.value, slope.error, tolerance);
  const auto no_pass = [&](Verdict verdict, std::string note) {
    result.verdict = verdict;
    result.note = std::move(note);
    return result;
  };
  if (!float128::is_finite(analytic)) return no_pass(Verdict::kFail, "the gradient is not finite");
  if (!float128::is_finite(slope.value) || !float128::is_finite(slope.error)) {
    return no_pass(Verdict::kUndecided, "the function is not finite near the point");
  }
  if (slope.has_kink) {
    const auto [low, high] = std::minmax(slope.left, slope.right);
    const bool is_between = low - tolerance <= analytic && analytic <= high + tolerance;
    return no_pass(
        is_between ? Verdict::kUndecided : Verdict::kFail,
        absl::StrFormat("a kink at the point: slope %.6g on the left, %.6g on the right%s",
                        static_cast<double>(slope.left), static_cast<double>(slope.right),
                        is_between ? "" : "; the gradient is not between them"));
  }
  if (float128::abs(analytic - slope.value) > tolerance) return no_pass(Verdict::kFail, "");
  // What f's rounding hides need not be zero: only what backward leaves of a zero is.
  const bool is_zero =
      float128::abs(analytic) <= std::min(sizes.rounding(), sizes.noise + kLeastOfF64);
  const Scalar told = is_zero ? kOfZero * std::max(sizes.beside, sizes.values) : kTells * largest;
  const bool nothing_moves = is_zero && largest <= sizes.rounding() && told <= sizes.rounding();
  if (kOfEstimate * slope.error > told && !nothing_moves) {
    result.is_hidden = true;
    return no_pass(Verdict::kUndecided, "rounding hides the derivative");
  }
  return result;
}

bool tell_the_same(Scalar analytic, Scalar other, Scalar noise) {
  const Scalar largest = std::max(float128::abs(analytic), float128::abs(other));
  const Scalar error = float128::abs(analytic - other);
  return error <= kOfConstants * largest || (error <= noise && noise <= kTells * largest);
}

Agreement compare_exact(Scalar analytic, Scalar other, Scalar size, Scalar rounding) {
  const Scalar tolerance = kOfConstants * size + rounding;
  Agreement result = agreement_of(analytic, other, 0, tolerance);
  const bool agrees = float128::abs(analytic - other) <= tolerance;  // a NaN does not
  result.verdict = agrees ? Verdict::kPass : Verdict::kFail;
  return result;
}

}  // namespace qkv
