#include "framework/gradcheck/direction_check.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "framework/gradcheck/conditioning.h"
#include "framework/gradcheck/differences.h"
#include "framework/gradcheck/dot.h"
#include "framework/gradcheck/epsilon.h"
#include "framework/gradcheck/exact_checks.h"
#include "framework/gradcheck/slope.h"

namespace qkv {
namespace {

// How far rounding moves <Jᵀv, u>; 0 where that is not known.
double spread_along(const Tensor& u, const InputGradient& gradient) {
  double spread = 0.0;
  if (gradient.spread.empty()) return spread;
  for (int64_t e = 0, size = u.size(); e < size; ++e) {
    spread += std::abs(u.array().data<double>()[e]) * gradient.spread_of(e).back();
  }
  return spread;
}

// The slope of the line through the points (log step, log remainder), by least squares.
double slope_between(const TaylorReport& taylor, size_t first, size_t last) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (size_t k = first; k <= last; ++k) {
    const double a = std::log2(taylor.steps[k]), b = std::log2(taylor.remainders[k]);
    n += 1, x += a, y += b, xx += a * a, xy += a * b;
  }
  return (n * xy - x * y) / (n * xx - x * x);
}

// Not where r crosses 0: above it, it falls more slowly than as h, and below it faster.
bool falls_as_step(const std::vector<double>& r, size_t last) {
  constexpr double kMinSlope = 0.5, kMaxSlope = 1.5;  // of the slope between two steps
  if (last < 2) return false;
  for (const size_t k : {last - 1, last}) {
    const double slope = std::log2(r[k - 1] / r[k]);
    if (!(slope > kMinSlope && slope < kMaxSlope)) return false;
  }
  return true;
}

// `floor` is what rounding may leave of a remainder.
void judge(double floor, const Agreement& direction, TaylorReport& taylor) {
  constexpr double kBetween = 1.5;  // 1 and 2
  const std::vector<double>& r = taylor.remainders;
  size_t smallest = r.size();  // the smallest step whose remainder stands above rounding
  while (smallest > 0 && r[smallest - 1] <= 8.0 * floor) --smallest;
  if (smallest < 2) {
    taylor.note = "the remainder is rounding";
    return;
  }
  const size_t last = smallest - 1;
  size_t first = last;
  while (first > 0 && last - first < 3 && std::isfinite(r[first - 1]) && r[first - 1] > 0.0)
    --first;
  if (first == last || !std::isfinite(r[last])) {
    taylor.note = "the function is not finite along u";
    taylor.is_finite = false;
    if (direction.verdict != Verdict::kPass) taylor.verdict = direction.verdict;
    return;
  }
  taylor.measured = true;
  taylor.slope = slope_between(taylor, first, last);
  if (taylor.slope >= kBetween) return;
  for (size_t k = 1; k <= 2 && last + k < r.size(); ++k) {
    const double faster = std::exp2(kBetween * static_cast<double>(k));
    if (!(r[last] > faster * std::max(r[last + k], floor))) continue;
    taylor.note = "a kink along u: below it the remainder is rounding";
    return;
  }
  if (r[last] <= direction.tolerance * taylor.steps[last]) {
    taylor.note = "the remainder is within the tolerance";
    return;
  }
  if (direction.verdict != Verdict::kFail && !falls_as_step(r, last)) {
    taylor.note = "the remainder crosses 0";
    return;
  }
  taylor.verdict = direction.verdict == Verdict::kFail ? Verdict::kFail : Verdict::kUndecided;
  taylor.note = direction.verdict == Verdict::kFail ? "falls as h: the gradient is wrong along u"
                                                    : "falls as h, where differences agree";
}

// Differences along u, and the Taylor remainder.
int64_t check_by_differences(const Directional& at, size_t input, const Tensor& u,
                             const GradcheckOptions& options, InputReport& report) {
  constexpr int kSteps = 16;  // 2⁻², … 2⁻¹⁷
  const std::vector<double> direction = u.to_vector(), v = at.backward.cotangent().to_vector();
  const Tensor& g = at.backward.gradients()[input];
  const Dot along_u = dot(g, u);
  const double analytic = along_u.value, beside = along_u.size;
  const Rows rows(false, v);
  ProbeLine probe(at.backward.probe(), input);
  const auto line = [&](double& t) { return probe.along(direction, t); };

  const Array y0 = at.backward.probe().value();
  double sum = 0.0, squares = 0.0;  // of g x: rounding x + hu moves f by epsilon times that
  if (g.defined()) {
    const double *gradient = g.array().data<double>(),
                 *x = at.backward.probe().input(input).array().data<double>();
    for (int64_t i = 0; i < g.size(); ++i) {
      const double product = std::abs(gradient[i] * x[i]);
      sum += product, squares += product * product;
    }
  }
  const double rounding_of_x = kEpsilon * norm_of(sum, squares, static_cast<double>(u.size()));
  Differences differences(rows, y0, {&at.backward.rounding().back(), 1}, options.tolerance);
  differences.add_noise(rounding_of_x);
  Slope slope;
  const double spread = spread_along(u, at.backward.inputs()[input]);
  differences.slopes(
      line, {}, {.derivatives = {&analytic, 1}, .beside = {&beside, 1}, .spread = {&spread, 1}},
      {&slope, 1});
  report.direction = compare(analytic, slope, options.tolerance, beside);
  if (slope.kind == Slope::Kind::kKinkHere) {
    // Kinks of many elements at once: the gradient need not lie between the slopes of both sides.
    report.direction.verdict = Verdict::kUndecided;
    report.direction.note = "a kink at the point";
  }

  double noise = 0.0;
  rows.noise(y0.data<double>(), y0.data<double>(), y0.data<double>(), &noise);
  const double floor =
      100.0 * (std::max(noise, at.backward.rounding().back().typical) + rounding_of_x);
  const auto look_from = [&](double first_step) {
    report.taylor = {};
    for (int k = 0; k < kSteps; ++k) {
      const double h = std::ldexp(first_step, -k);
      double difference = 0.0;
      rows.quotients(probe.along(direction, h).data<double>(), y0.data<double>(), 1.0, &difference);
      report.taylor.steps.push_back(h);
      report.taylor.remainders.push_back(std::abs(difference - h * analytic));
    }
    judge(floor, report.direction, report.taylor);
    return int64_t{kSteps};
  };
  // Where only small steps settle, the length over which f bends is small; where a large x hides
  // that f bends at all, it is that of x.
  const bool is_short = slope.step < 0x1p-14;
  int64_t evaluations = look_from(is_short ? std::min(0.25, 64.0 * slope.step) : 0.25);
  const double size = largest_of(at.backward.probe().input(input));
  if (!report.taylor.measured && report.taylor.is_finite && size > 1.0) {
    const TaylorReport near = report.taylor;
    evaluations += look_from(0.25 * size);
    if (report.taylor.verdict != Verdict::kPass) report.taylor = near;  // f is no power that far
  }
  return differences.evaluations() + evaluations;
}

}  // namespace

int64_t check_direction(const Directional& at, size_t input, const Tensor& u,
                        const GradcheckOptions& options, InputReport& report) {
  const int64_t evaluations = check_by_differences(at, input, u, options, report);
  check_exactly(at, input, u, options.tolerance, report);
  for (const Verdict verdict :
       {report.direction.verdict, report.taylor.verdict, report.dot_product.verdict,
        report.composed.verdict, report.forward.verdict}) {
    report.verdict = worse(report.verdict, verdict);
  }
  return evaluations;
}

}  // namespace qkv
