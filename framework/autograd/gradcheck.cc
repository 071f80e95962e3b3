#include "framework/autograd/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "framework/autograd/backward.h"
#include "framework/core/error.h"
#include "framework/core/random.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

// The first step of the differences. Where they don't settle (a kink or a pole is near), smaller
// ones are tried.
constexpr double kSteps[] = {0x1p-6, 0x1p-9, 0x1p-12, 0x1p-15, 0x1p-18};
constexpr int kLevels = 3;  // halvings of a step that are extrapolated from

void check_f64(const std::string& what, const Tensor& x) {
  if (x.dtype() == DType::f64) return;
  fail(absl::StrCat("gradcheck: needs f64: ", what, " is ", x.describe(),
                    ", which holds too few digits to tell a wrong derivative from a rounded one"));
}

Tensor random_like(const Tensor& x, RandomStream stream) {
  std::vector<double> values(static_cast<size_t>(x.size()));
  std::ranges::generate(values, [&] { return stream.normal(); });
  return Tensor(Array::of(x.shape(), x.dtype(), values));
}

struct Estimate {
  double value = std::numeric_limits<double>::quiet_NaN();
  double error = std::numeric_limits<double>::infinity();
};

// lim D(h) for h -> 0, where D(h) = D + c2 h² + c4 h⁴ + …, from D(h), D(h / 2), …: each column of
// the tableau cancels one more power. Richardson, "The deferred approach to the limit", 1927.
template <class D>
Estimate extrapolate(const D& difference, double h) {
  double previous[kLevels] = {}, row[kLevels] = {};
  for (int level = 0; level < kLevels; ++level, h /= 2) {
    std::copy(std::begin(row), std::end(row), previous);
    row[0] = difference(h);
    double power = 4.0;
    for (int k = 1; k <= level; ++k, power *= 4.0) {
      row[k] = row[k - 1] + (row[k - 1] - previous[k - 1]) / (power - 1.0);
    }
  }
  constexpr int kLast = kLevels - 1;
  return {row[kLast], std::max(std::abs(row[kLast] - row[kLast - 1]),
                               std::abs(row[kLast] - previous[kLast - 1]))};
}

// One function at one point: its gradients by backward and by differences.
class Check {
 public:
  Check(const TensorFunction& f, std::span<const Tensor> inputs, const Tolerance& tolerance,
        const RandomStream& stream)
      : f_(f), tolerance_(tolerance) {
    for (const Tensor& x : inputs) {
      // A copy of its own, which the differences change in place.
      const Tensor copy = Tensor(x.array().copy());
      points_.push_back(copy);
      leaves_.push_back(is_floating(x.dtype()) ? parameter(x.array().copy()) : copy);
    }
    const Tensor y = f_(leaves_);
    check_f64("the output", y);
    cotangent_ = random_like(y, stream);
    if (y.requires_grad()) gradients_ = backward(y, {.cotangent = cotangent_});
    weights_ = cotangent_.to_vector();
    const std::vector<double> once = values(), again = values();
    if (once.size() != again.size() ||
        std::memcmp(once.data(), again.data(), once.size() * sizeof(double)) != 0) {
      fail("gradcheck: the function gives other numbers each time it is called");
    }
  }

  const Tensor& cotangent() const { return cotangent_; }

  InputReport input(size_t i, InputReport report) {
    const Tensor& x = leaves_[i];
    report.shape = x.shape();
    std::vector<double> analytic(static_cast<size_t>(x.size()), 0.0);
    if (gradients_.contains(x)) analytic = gradients_[x].to_vector();
    double worst = -1.0;
    for (size_t element = 0; element < analytic.size(); ++element) {
      const Estimate numeric = derivative(i, element);
      const double error = std::abs(analytic[element] - numeric.value);
      const double tolerance = allowed(analytic[element], numeric.value);
      const bool passed = std::isfinite(analytic[element]) && std::isfinite(numeric.value) &&
                          error <= tolerance && numeric.error <= tolerance;
      double badness = std::max(error, numeric.error) / tolerance;
      if (!passed && !(badness > 1.0)) badness = std::numeric_limits<double>::infinity();
      if (!(badness > worst)) continue;
      worst = badness;
      report.element = static_cast<int64_t>(element);
      report.analytic = analytic[element];
      report.numeric = numeric.value;
      report.error = error;
      report.estimated_error = numeric.error;
      report.tolerance = tolerance;
      report.passed = passed;
    }
    return report;
  }

 private:
  std::vector<double> values() const {
    const NoGrad no_grad;
    return f_(points_).to_vector();
  }

  double allowed(double a, double b) const {
    return tolerance_.absolute + tolerance_.relative * std::max(std::abs(a), std::abs(b));
  }

  Estimate derivative(size_t i, size_t element) {
    Array point = points_[i].array();
    double& x = point.mutable_data<double>()[element];
    const double at = x;
    const auto central = [&](double h) {
      const double above = at + h, below = at - h;
      x = above;
      const std::vector<double> high = values();
      x = below;
      const std::vector<double> low = values();
      x = at;
      double sum = 0.0;  // differences before the dot product: less is cancelled
      for (size_t k = 0; k < high.size(); ++k) sum += weights_[k] * (high[k] - low[k]);
      return sum / (above - below);
    };
    Estimate best;
    for (const double step : kSteps) {
      const Estimate estimate = extrapolate(central, step * std::max(1.0, std::abs(at)));
      if (estimate.error < best.error || !std::isfinite(best.value)) best = estimate;
      if (best.error <= 0.1 * allowed(best.value, best.value)) break;
    }
    return best;
  }

  const TensorFunction& f_;
  Tolerance tolerance_;
  std::vector<Tensor> points_;  // for the differences
  std::vector<Tensor> leaves_;  // for backward
  Tensor cotangent_;
  std::vector<double> weights_;  // the cotangent's
  Gradients gradients_;
};

// (inputs, cotangent) -> every gradient of f, one after the other.
TensorFunction gradients_of(const TensorFunction& f) {
  return [&f](std::span<const Tensor> all) {
    const bool differentiable = records(all);
    const RecordGradients record(true);
    std::vector<Tensor> inputs;
    for (const Tensor& x : all.first(all.size() - 1)) {
      const bool make_leaf = is_floating(x.dtype()) && !x.requires_grad();
      inputs.push_back(make_leaf ? parameter(x.array()) : x);
    }
    const Tensor y = f(inputs);
    Gradients gradients;
    if (y.requires_grad()) {
      gradients = backward(y, {.cotangent = all.back(), .create_graph = differentiable});
    }
    std::vector<Tensor> pieces;
    for (const Tensor& x : inputs) {
      if (!is_floating(x.dtype())) continue;
      pieces.push_back(gradients.contains(x) ? reshape(gradients[x], {x.size()})
                                             : zeros({x.size()}, DType::f64));
    }
    return concat(pieces, 0);
  };
}

std::string position(const Shape& shape, int64_t element) {
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[static_cast<size_t>(axis)] = element % shape[axis];
    element /= shape[axis];
  }
  return absl::StrCat("[", absl::StrJoin(index, ", "), "]");
}

}  // namespace

std::string InputReport::to_text() const {
  const std::string head = absl::StrFormat("%s  order %d  %s f64%s", passed ? "ok  " : "FAIL",
                                           order, name, shape.to_string());
  if (shape.size() == 0) return absl::StrCat(head, ": empty");
  return absl::StrFormat(
      "%s: worst at %s: analytic %.10g, numeric %.10g ± %.1e, error %.1e, tolerance %.1e", head,
      position(shape, element), analytic, numeric, estimated_error, error, tolerance);
}

bool GradcheckReport::passed() const { return std::ranges::all_of(inputs, &InputReport::passed); }

std::string GradcheckReport::to_text() const {
  std::string text;
  for (const InputReport& input : inputs) absl::StrAppend(&text, input.to_text(), "\n");
  const auto failed = std::ranges::count(inputs, false, &InputReport::passed);
  absl::StrAppend(&text,
                  passed() ? "passed" : absl::StrCat("FAILED: ", failed, " of ", inputs.size()),
                  ": ", elements, " derivatives\n");
  return text;
}

GradcheckReport gradcheck(const TensorFunction& f, std::span<const Tensor> inputs,
                          const GradcheckOptions& options) {
  if (options.order != 1 && options.order != 2) {
    fail(absl::StrCat("gradcheck: order must be 1 or 2, not ", options.order));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (is_floating(inputs[i].dtype())) check_f64(absl::StrCat("input ", i), inputs[i]);
  }
  if (std::ranges::none_of(inputs, [](const Tensor& x) { return is_floating(x.dtype()); })) {
    fail("gradcheck: no input has a gradient: none is f64");
  }
  GradcheckReport report;
  const auto run = [&](int order, const TensorFunction& function, std::span<const Tensor> at) {
    const RandomStream stream = RandomStream(options.seed).derive(static_cast<uint64_t>(order));
    Check check(function, at, options.tolerance, stream);
    for (size_t i = 0; i < at.size(); ++i) {
      if (!is_floating(at[i].dtype())) continue;
      const std::string name = i < inputs.size() ? absl::StrCat("input ", i) : "cotangent";
      report.inputs.push_back(check.input(i, {.order = order, .name = name}));
      report.elements += at[i].size();
    }
    return check.cotangent();
  };
  const Tensor cotangent = run(1, f, inputs);
  if (options.order == 2) {
    std::vector<Tensor> all(inputs.begin(), inputs.end());
    all.push_back(cotangent);
    run(2, gradients_of(f), all);
  }
  return report;
}

}  // namespace qkv
