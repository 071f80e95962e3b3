#include "framework/gradcheck/exact_checks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "framework/autograd/hessian.h"
#include "framework/gradcheck/conditioning.h"
#include "framework/gradcheck/dot.h"
#include "framework/gradcheck/epsilon.h"
#include "framework/gradcheck/slope.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

// What the sums behind two numbers that agree may have lost, of the sum of their terms' sizes.
constexpr double kRounding = 1e-12;

// For derivatives that are far below their terms, of the relative tolerance.
constexpr double kToleranceShare = 0.01;

constexpr double kUnitRoundings = 8.0;  // roundings

// Both from backward, so that nothing but rounding keeps them apart. `size` is that of their terms,
// or of what these are made of; `slack` how far rounding is known to move them.
Agreement compare_exact(double analytic, double other, double size, double slack,
                        const Tolerance& tolerance) {
  const double error = (kRounding + tolerance.relative * kToleranceShare) * size + slack;
  return compare(analytic, {.value = other, .error = error}, tolerance, size);
}

// What may be left of a derivative that is zero, over kRounding: of one that would change f by f
// over the size of its input, a rounding.
double rounding_of_derivatives(const Directional& at, size_t input) {
  const double largest_x = std::max(1.0, largest_of(at.backward.probe().input(input)));
  const double value_error = kEpsilon * largest_of(Tensor(at.backward.probe().value()));
  // The rounding of a part of the derivative that is 1, as in p - 1 with p near 1.
  const double unit_error = kUnitRoundings * kEpsilon * largest_of(at.backward.cotangent());
  return std::max({value_error, unit_error, at.backward.rounding().back().worst}) / kRounding /
         largest_x;
}

// How far rounding moves <Jᵀ cotangent, u>: that of x, and that of each number on the way.
double slack_of_backward(const Directional& at, size_t input, const Tensor& u,
                         const Tensor& cotangent) {
  const TensorFunction& f = at.backward.probe().function();
  const auto along_u = [&](std::span<const Tensor> x) {
    return std::vector{dot(Recorded(f, x).gradients(cotangent)[input], u).value};
  };
  const double spread = spread_of(along_u, at.backward.probe().inputs(), at.neighbours)[0];
  return kAllowedSpreads * spread +
         2.0 *
             RecordedGradients(f, at.backward.probe().inputs(), cotangent).rounding(input, u).worst;
}

void check_dot_product(const Directional& at, size_t input, const Tensor& u,
                       const Tolerance& tolerance, InputReport& report) {
  const Dot backward_side = dot(at.other_gradients[input], u);
  const Tensor ju = at.forward.product(input, u);
  if (!ju.defined() && at.backward.gradients()[input].defined()) {
    report.dot_product.note = "not tested: the backward is not differentiable by its cotangent";
    return;
  }
  const Dot forward_side = dot(ju, at.other_cotangent);
  const double size = backward_side.size + forward_side.size + rounding_of_derivatives(at, input);
  const auto compare_with = [&](double slack) {
    return compare_exact(backward_side.value, forward_side.value, size, slack, tolerance);
  };
  report.dot_product = compare_with(0.0);
  if (report.dot_product.verdict == Verdict::kFail && !report.fails_by_differences()) {
    report.dot_product = compare_with(slack_of_backward(at, input, u, at.other_cotangent));
  }
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
  result.back() = dot(ju, at.backward.cotangent());
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
  const size_t rows = at.backward.inputs()[input].rows_each;
  const TensorFunction& f = at.backward.probe().function();
  const auto by_forward_mode = [&](std::span<const Tensor> x) {
    std::vector<double> values;
    for (const Dot& row : rows_of(forward_derivative(f, x, tangents), at, rows)) {
      values.push_back(row.value);
    }
    return values;
  };
  std::vector<double> slack =
      spread_of(by_forward_mode, at.backward.probe().inputs(), at.neighbours);
  for (size_t k = 0; k < rows; ++k) {
    const Tensor v = at.backward.cotangent_of(k);
    const double worst =
        RecordedGradients(f, at.backward.probe().inputs(), v).rounding(input, u).worst;
    slack[k] = kAllowedSpreads * slack[k] + 2.0 * worst;  // both ways round
  }
  return slack;
}

void check_forward_mode(const Directional& at, size_t input, const Tensor& u, InputReport& report) {
  std::vector<Tensor> tangents(at.backward.probe().size());
  tangents[input] = u;
  Tensor ju;
  try {
    ju = at.forward_mode.derivative(tangents);
  } catch (const NoForwardRule& error) {
    report.no_forward_rule = error.op();
    return;
  }
  const size_t rows = at.backward.inputs()[input].rows_each;
  std::vector<Dot> backward(rows);
  for (int64_t e = 0; e < u.size(); ++e) {
    const std::span<const double> row = at.backward.inputs()[input].of(e);
    const double along = u.array().data<double>()[e];
    for (size_t k = 0; k < rows; ++k) backward[k].add(row[k] * along);
  }
  const std::vector<Dot> forward = rows_of(ju, at, rows);
  // What may be left of a derivative that is zero, in <v, Ju> of all outputs.
  const double rounding = kZeroRounding * rounding_of_derivatives(at, input);
  double weights = 0.0;
  for (const double weight : at.backward.cotangent().to_vector()) weights += std::abs(weight);
  report.forward = compare_rows(backward, forward, {}, rounding, weights);
  if (!report.only_forward_mode_fails()) return;
  report.forward =
      compare_rows(backward, forward, slack_of_rows(at, input, u, tangents), rounding, weights);
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
    const Agreement agreement =
        compare_exact(value(fused, i), value(composed, i), largest,
                      spread.empty() ? 0.0 : kAllowedSpreads * spread[i], tolerance);
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
  const Tensor& fused = at.backward.gradients()[input];
  const double rounding = rounding_of_derivatives(at, input);
  const auto by_composed_formulas = [&](std::span<const Tensor> x) {
    const ComposedOnly composed_only;
    const Tensor g =
        Recorded(at.backward.probe().function(), x).gradients(at.backward.cotangent())[input];
    return g.defined()
               ? g.to_vector()
               : std::vector<double>(static_cast<size_t>(at.backward.probe().input(input).size()));
  };
  for (const Tensor& composed : {at.forward.gradients()[input], at.composed_only[input]}) {
    ElementReport found = compare_elements(fused, composed, rounding, {}, tolerance);
    if (found.verdict == Verdict::kFail) {
      const std::vector<double> spread =
          spread_of(by_composed_formulas, at.backward.probe().inputs(), at.neighbours);
      found = compare_elements(fused, composed, rounding, spread, tolerance);
    }
    if (report.composed.tolerance == 0.0 || share_of(found) > share_of(report.composed)) {
      report.composed = std::move(found);
    }
  }
}

// The rounding of <u, Hw>, with H the second derivatives of `scalar`.
double rounding_of_product(const TensorFunction& scalar, std::span<const Tensor> inputs,
                           std::span<const Tensor> u, std::span<const Tensor> w) {
  std::vector<Tensor> directions;
  for (const Tensor& direction : u) {
    if (direction.defined()) directions.push_back(reshape(direction, {direction.size()}));
  }
  const Tensor one = ones({}, DType::f64);
  const TensorFunction slope_along_u = [&](std::span<const Tensor> x) {
    std::vector<Tensor> all(x.begin(), x.end());
    all.push_back(one);
    return sum(gradients_of(scalar)(all) * concat(directions, 0));
  };
  double worst = 0.0;
  const RecordedGradients gradients(slope_along_u, inputs, one);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!w[i].defined()) continue;
    worst += gradients.rounding(i, w[i]).worst;
  }
  return worst;
}

}  // namespace

void check_exactly(const Directional& at, size_t input, const Tensor& u, const Tolerance& tolerance,
                   InputReport& report) {
  check_dot_product(at, input, u, tolerance, report);
  check_composed(at, input, tolerance, report);
  check_forward_mode(at, input, u, report);
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
  const double size = left.size + right.size + kUnitRoundings * kEpsilon / kRounding * parts;
  const double l = left.value, r = right.value;
  Agreement result = compare_exact(l, r, size, 0.0, tolerance);
  if (result.verdict == Verdict::kFail) {
    const auto both = [&](std::span<const Tensor> x) {
      const auto [a, b] = products(x);
      return std::vector<double>{a.value, b.value};
    };
    const std::vector<double> spread = spread_of(both, inputs, stream.derive("neighbours"));
    const double worst =
        rounding_of_product(scalar, inputs, u, w) + rounding_of_product(scalar, inputs, w, u);
    const double slack = kAllowedSpreads * std::max(spread[0], spread[1]) + worst;
    result = compare_exact(l, r, size, slack, tolerance);
  }
  if (result.verdict == Verdict::kFail && result.note.empty()) {
    result.note = "the Hessian is not symmetric";
  }
  return result;
}

}  // namespace qkv
