#include "framework/gradcheck/direction_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "framework/autograd/hessian.h"
#include "framework/gradcheck/conditioning.h"
#include "framework/gradcheck/differences.h"
#include "framework/gradcheck/slope.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

constexpr double kEpsilon = 0x1p-53;
// What the sums behind two numbers that agree may have lost, of the sum of their terms' sizes.
constexpr double kRounding = 1e-12;

constexpr double kOfOne = 8.0;  // roundings

struct Dot {
  double value = 0.0, size = 0.0;  // the sum of the terms, and of their absolute values

  void add(double term) { value += term, size += std::abs(term); }
  void add(const Dot& part) { value += part.value, size += part.size; }
};

// An undefined tensor is zero.
Dot dot(const Tensor& a, const Tensor& b) {
  Dot result;
  if (!a.defined() || !b.defined()) return result;
  const double *p = a.array().data<double>(), *q = b.array().data<double>();
  for (int64_t i = 0; i < a.size(); ++i) {
    result.add(p[i] * q[i]);
  }
  return result;
}

// Both from backward, so that nothing but rounding keeps them apart. `size` is that of their terms,
// or of what these are made of; `slack` how far rounding is known to move them.
Agreement compare_exact(double analytic, double other, double size, double slack,
                        const Tolerance& tolerance) {
  const double error = kRounding * size + slack;
  return compare(analytic, {.value = other, .error = error}, tolerance, size);
}

double largest_of(const Tensor& x) {
  double largest = 0.0;
  for (const double number : x.to_vector()) largest = std::max(largest, std::abs(number));
  return largest;
}

// What may be left of a derivative that is zero, over kRounding: of one that would change f by f
// over the size of its input, a rounding.
double rounding_of_derivatives(const Directional& at, size_t input) {
  const double largest_x = std::max(1.0, largest_of(at.probe.input(input)));
  const double of_y = kEpsilon * largest_of(Tensor(at.probe.value()));
  // Of a part of the derivative that is 1, as in p - 1 with a probability p near 1.
  const double of_one = kOfOne * kEpsilon * largest_of(at.cotangent);
  return std::max({of_y, of_one, at.rounding.most}) / kRounding / largest_x;
}

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
  constexpr double kLeast = 0.5, kMost = 1.5;  // of the slope between two steps
  if (last < 2) return false;
  for (const size_t k : {last - 1, last}) {
    const double slope = std::log2(r[k - 1] / r[k]);
    if (!(slope > kLeast && slope < kMost)) return false;
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
  if (last + 1 < r.size() && r[last] > std::exp2(kBetween) * std::max(r[last + 1], floor)) {
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
  const std::vector<double> direction = u.to_vector(), v = at.cotangent.to_vector();
  const Tensor& g = at.gradients[input];
  const Dot along_u = dot(g, u);
  const double analytic = along_u.value, beside = along_u.size;
  const Rows rows(false, v);
  ProbeLine probe(at.probe, input);
  const auto line = [&](double& t) { return probe.along(direction, t); };

  const Array y0 = at.probe.value();
  double sum = 0.0, squares = 0.0;  // of g x: rounding x + hu moves f by epsilon times that
  if (g.defined()) {
    const double *gradient = g.array().data<double>(),
                 *x = at.probe.input(input).array().data<double>();
    for (int64_t i = 0; i < g.size(); ++i) {
      const double product = std::abs(gradient[i] * x[i]);
      sum += product, squares += product * product;
    }
  }
  const double rounding_of_x = kEpsilon * norm_of(sum, squares, static_cast<double>(u.size()));
  Differences differences(rows, y0, {&at.rounding, 1}, options.tolerance);
  differences.add_noise(rounding_of_x);
  Slope slope;
  differences.slopes(line, 1.0, 0.0, {&analytic, 1}, {&beside, 1}, {&slope, 1});
  slope.error += kOfSpread * spread_along(u, at.rows[input]);
  report.direction = compare(analytic, slope, options.tolerance, beside);
  if (slope.kind == Slope::Kind::kKinkHere) {
    // Kinks of many elements at once: the gradient need not lie between the slopes of both sides.
    report.direction.verdict = Verdict::kUndecided;
    report.direction.note = "a kink at the point";
  }

  double noise = 0.0;
  rows.noise(y0.data<double>(), y0.data<double>(), y0.data<double>(), &noise);
  const double floor = 100.0 * (std::max(noise, at.rounding.usual) + rounding_of_x);
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
  const double size = largest_of(at.probe.input(input));
  if (!report.taylor.measured && report.taylor.is_finite && size > 1.0) {
    const TaylorReport near = report.taylor;
    evaluations += look_from(0.25 * size);
    if (report.taylor.verdict != Verdict::kPass) report.taylor = near;  // f is no power that far
  }
  return differences.evaluations() + evaluations;
}

void check_dot_product(const Directional& at, size_t input, const Tensor& u,
                       const GradcheckOptions& options, InputReport& report) {
  const Dot backward_side = dot(at.other_gradients[input], u);
  const Tensor ju = at.forward.product(input, u);
  if (!ju.defined() && at.gradients[input].defined()) {
    report.dot_product.note = "not tested: the backward is not differentiable by its cotangent";
    return;
  }
  const Dot forward_side = dot(ju, at.other_cotangent);
  const double size = backward_side.size + forward_side.size + rounding_of_derivatives(at, input);
  report.dot_product =
      compare_exact(backward_side.value, forward_side.value, size, 0.0, options.tolerance);
  if (report.dot_product.verdict == Verdict::kFail && report.dot_product.note.empty()) {
    report.dot_product.note = "backward and its own transpose differ";
  }
}

// How far beyond rounding; more than 1 is too far.
double share_of(const Agreement& agreement) {
  if (agreement.error == 0.0) return 0.0;  // of a tolerance that may be 0, too
  const double share = agreement.error / agreement.tolerance;
  return std::isfinite(share) ? share : std::numeric_limits<double>::infinity();
}

// Ju, and <v, Ju>, from the tangent that the rules of forward mode give.
std::vector<Dot> rows_of(const Tensor& ju, const Directional& at, size_t rows) {
  std::vector<Dot> result(rows);
  if (!ju.defined()) return result;
  const double* dy = ju.array().data<double>();
  for (size_t k = 0; k + 1 < rows; ++k) result[k].add(dy[k]);
  result.back() = dot(ju, at.cotangent);
  return result;
}

// Where the rows of J that backward gave, times u, differ most from the tangent. Neither is a
// difference, so that nothing is allowed but rounding.
ElementReport compare_rows(std::span<const Dot> backward, std::span<const Dot> forward,
                           std::span<const double> slack, double rounding, double weights) {
  constexpr Tolerance kNone = {.relative = 0.0, .absolute = 0.0};
  ElementReport report;
  double worst = -1.0;
  for (size_t k = 0; k < backward.size(); ++k) {
    const bool is_dot_product = k + 1 == backward.size();
    const double size = backward[k].size + forward[k].size +
                        rounding * (is_dot_product ? std::max(1.0, weights) : 1.0);
    const Agreement agreement = compare_exact(backward[k].value, forward[k].value, size,
                                              slack.empty() ? 0.0 : slack[k], kNone);
    if (!(share_of(agreement) > worst)) continue;
    worst = share_of(agreement);
    static_cast<Agreement&>(report) = agreement;
    report.output = is_dot_product ? -1 : static_cast<int64_t>(k);
  }
  if (report.verdict == Verdict::kFail && report.note.empty()) {
    report.note = "forward mode and backward differ";
  }
  return report;
}

// How far rounding moves what forward mode or backward gives: that of x, and that of each number on
// the way, as of 1 - y² where y is near 1.
std::vector<double> slack_of_rows(const Directional& at, size_t input, const Tensor& u,
                                  std::span<const Tensor> tangents) {
  const size_t rows = at.rows[input].rows_each;
  const TensorFunction& f = at.probe.function();
  const auto by_forward_mode = [&](std::span<const Tensor> x) {
    std::vector<double> values;
    for (const Dot& row : rows_of(forward_derivative(f, x, tangents), at, rows)) {
      values.push_back(row.value);
    }
    return values;
  };
  std::vector<double> slack = spread_of(by_forward_mode, at.probe.inputs(), at.neighbours);
  for (size_t k = 0; k < rows; ++k) {
    Array v = at.cotangent.array();
    if (k + 1 < rows) {
      v = Array::full(v.shape(), DType::f64, 0.0);
      v.mutable_data<double>()[k] = 1.0;
    }
    const double most = rounding_of_gradient(f, at.probe.inputs(), input, Tensor(v), u).most;
    slack[k] = kOfSpread * slack[k] + 2.0 * most;  // both ways round
  }
  return slack;
}

void check_forward_mode(const Directional& at, size_t input, const Tensor& u, InputReport& report) {
  std::vector<Tensor> tangents(at.probe.size());
  tangents[input] = u;
  Tensor ju;
  try {
    ju = at.forward_mode.derivative(tangents);
  } catch (const NoForwardRule& error) {
    report.no_forward_rule = error.op();
    return;
  }
  const size_t rows = at.rows[input].rows_each;
  std::vector<Dot> backward(rows);
  for (int64_t e = 0; e < u.size(); ++e) {
    const std::span<const double> row = at.rows[input].of(e);
    const double along = u.array().data<double>()[e];
    for (size_t k = 0; k < rows; ++k) backward[k].add(row[k] * along);
  }
  const std::vector<Dot> forward = rows_of(ju, at, rows);
  // What may be left of a derivative that is zero, in <v, Ju> of all outputs.
  const double rounding = kZeroRounding * rounding_of_derivatives(at, input);
  double weights = 0.0;
  for (const double weight : at.cotangent.to_vector()) weights += std::abs(weight);
  report.forward = compare_rows(backward, forward, {}, rounding, weights);
  if (report.forward.verdict != Verdict::kFail) return;
  report.forward = compare_rows(backward, forward, slack_of_rows(at, input, u, tangents), rounding,
                                weights);
}

// Where the gradients differ most, for their tolerance.
ElementReport compare_elements(const Tensor& fused, const Tensor& composed, double rounding,
                               std::span<const double> spread, const Tolerance& tolerance) {
  ElementReport report;
  if (!fused.defined() && !composed.defined()) return report;
  const Tensor& shape = fused.defined() ? fused : composed;
  const auto value = [](const Tensor& x, int64_t i) {
    return x.defined() ? x.array().data<double>()[i] : 0.0;
  };
  double largest = rounding;
  for (int64_t i = 0; i < shape.size(); ++i) {
    if (std::isfinite(value(fused, i))) largest = std::max(largest, std::abs(value(fused, i)));
  }
  double worst = -1.0;
  for (int64_t i = 0; i < shape.size(); ++i) {
    const Agreement agreement = compare_exact(value(fused, i), value(composed, i), largest,
                                              spread.empty() ? 0.0 : kOfSpread * spread[i], tolerance);
    if (!(share_of(agreement) > worst)) continue;
    worst = share_of(agreement);
    static_cast<Agreement&>(report) = agreement;
    report.element = i;
    if (agreement.verdict == Verdict::kFail && agreement.note.empty()) {
      report.note = "the fused and the composed backward differ";
    }
  }
  return report;
}

void check_composed(const Directional& at, size_t input, const Tolerance& tolerance,
                    InputReport& report) {
  const Tensor& fused = at.gradients[input];
  const double rounding = rounding_of_derivatives(at, input);
  const auto by_composed_formulas = [&](std::span<const Tensor> x) {
    const ComposedOnly composed_only;
    const Tensor g = Recorded(at.probe.function(), x).gradients(at.cotangent)[input];
    return g.defined() ? g.to_vector()
                       : std::vector<double>(static_cast<size_t>(at.probe.input(input).size()));
  };
  for (const Tensor& composed : {at.forward.gradients()[input], at.composed_only[input]}) {
    ElementReport found = compare_elements(fused, composed, rounding, {}, tolerance);
    if (found.verdict == Verdict::kFail) {
      const std::vector<double> spread =
          spread_of(by_composed_formulas, at.probe.inputs(), at.neighbours);
      found = compare_elements(fused, composed, rounding, spread, tolerance);
    }
    if (report.composed.tolerance == 0.0 || share_of(found) > share_of(report.composed)) {
      report.composed = std::move(found);
    }
  }
}

}  // namespace

int64_t check_direction(const Directional& at, size_t input, const Tensor& u,
                        const GradcheckOptions& options, InputReport& report) {
  const int64_t evaluations = check_by_differences(at, input, u, options, report);
  check_dot_product(at, input, u, options, report);
  check_forward_mode(at, input, u, report);
  check_composed(at, input, options.tolerance, report);
  for (const Verdict verdict :
       {report.direction.verdict, report.taylor.verdict, report.dot_product.verdict,
        report.composed.verdict, report.forward.verdict}) {
    report.verdict = worse(report.verdict, verdict);
  }
  return evaluations;
}

Agreement check_symmetry(const TensorFunction& f, std::span<const Tensor> inputs,
                         const Tensor& cotangent, const Tolerance& tolerance, RandomStream stream) {
  const TensorFunction scalar = [&](std::span<const Tensor> x) { return sum(f(x) * cotangent); };
  std::vector<Tensor> u, w;
  for (const Tensor& x : inputs) {
    const bool floating = is_floating(x.dtype());
    u.push_back(floating ? random_like(x, stream.derive(2 * u.size())) : Tensor());
    w.push_back(floating ? random_like(x, stream.derive(2 * w.size() + 1)) : Tensor());
  }
  const auto products = [&](std::span<const Tensor> x) {
    const std::vector<Tensor> hu = hessian_vector_product(scalar, x, u);
    const std::vector<Tensor> hw = hessian_vector_product(scalar, x, w);
    Dot left, right;
    for (size_t i = 0; i < x.size(); ++i) {
      left.add(dot(u[i], hw[i])), right.add(dot(w[i], hu[i]));
    }
    return std::pair(left, right);
  };
  double parts = 0.0;  // of H that are 1
  for (size_t i = 0; i < inputs.size(); ++i) parts += dot(u[i], w[i]).size * largest_of(cotangent);
  const auto [left, right] = products(inputs);
  const double size = left.size + right.size + kOfOne * kEpsilon / kRounding * parts;
  const double l = left.value, r = right.value;
  Agreement result = compare_exact(l, r, size, 0.0, tolerance);
  if (result.verdict == Verdict::kFail) {
    const auto both = [&](std::span<const Tensor> x) {
      const auto [a, b] = products(x);
      return std::vector<double>{a.value, b.value};
    };
    const std::vector<double> spread = spread_of(both, inputs, stream.derive("neighbours"));
    result = compare_exact(l, r, size, kOfSpread * std::max(spread[0], spread[1]), tolerance);
  }
  if (result.verdict == Verdict::kFail && result.note.empty()) {
    result.note = "the Hessian is not symmetric";
  }
  return result;
}

}  // namespace qkv
