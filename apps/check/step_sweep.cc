#include "apps/check/step_sweep.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/core/error.h"
#include "framework/core/random.h"
#include "framework/gradcheck/derivatives.h"
#include "framework/gradcheck/probe.h"

namespace qkv {
namespace {

constexpr int kStepsPerDecade = 4, kDecades = 15;

// t -> v · f(x + t u), with a random direction u and a random cotangent v.
class SweepLine {
 public:
  SweepLine(const TensorFunction& f, std::span<const Tensor> inputs, const RandomStream& random)
      : f_(f, inputs, kDouble, random) {
    const Recorded recorded(f, f_.inputs());
    cotangent_ = numbers_of(random_like(recorded.output(), random.derive("cotangent")));
    const std::vector<Numbers> gradients = recorded.gradients(cotangent_);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool moves = is_floating(inputs[i].dtype());
      direction_.push_back(moves ? numbers_of(random_like(inputs[i], random.derive(i)))
                                 : Numbers());
      slope_ += static_cast<double>(dot(gradients[i], direction_[i]).value);
    }
  }

  double slope() const { return slope_; }

  // v · (f(x + t u) - f(x + s u)): differences before the product, so that less is cancelled.
  double difference(double t, double s) const {
    const Numbers high = f_.at(direction_, t), low = f_.at(direction_, s);
    double sum = 0.0;
    for (size_t i = 0; i < high.size(); ++i) {
      sum += static_cast<double>(cotangent_[i] * (high[i] - low[i]));
    }
    return sum;
  }

 private:
  Probe f_;
  Direction direction_;
  Numbers cotangent_;
  double slope_ = 0.0;
};

void check_inputs(std::span<const Tensor> inputs) {
  int64_t elements = 0;
  for (const Tensor& x : inputs) {
    if (!x.defined()) fail("step_sweep: an input is undefined");
    if (!is_floating(x.dtype())) continue;
    if (x.dtype() != DType::f64) {
      fail(absl::StrCat("step_sweep: needs f64: ", x.describe(),
                        " rounds too coarsely for a sweep of step sizes"));
    }
    elements += x.size();
  }
  if (elements == 0) fail("step_sweep: no input is f64, so there is nothing to check");
}

}  // namespace

std::vector<SweepPoint> step_sweep(const TensorFunction& f, std::span<const Tensor> inputs,
                                   uint64_t seed) {
  check_inputs(inputs);
  const SweepLine line(f, inputs, RandomStream(seed));
  if (line.slope() == 0.0) {
    fail("step_sweep: the function has no slope here: backward gives 0 in every direction");
  }
  const auto error = [&](double numeric) {
    return std::abs(numeric - line.slope()) / std::abs(line.slope());
  };
  const auto central = [&](double h) { return line.difference(h, -h) / (2.0 * h); };
  std::vector<SweepPoint> points;
  for (int i = 0; i <= kStepsPerDecade * kDecades; ++i) {
    const double h = std::pow(10.0, -static_cast<double>(i) / kStepsPerDecade);
    const double d1 = central(h), d2 = central(h / 2), d4 = central(h / 4);
    const double first = d2 + (d2 - d1) / 3.0, second = d4 + (d4 - d2) / 3.0;  // without h²
    points.push_back({.step = h,
                      .forward_error = error(line.difference(h, 0.0) / h),
                      .central_error = error(d1),
                      .extrapolated_error = error(second + (second - first) / 15.0)});
  }
  return points;
}

std::string sweep_csv(std::span<const SweepPoint> points) {
  std::string text = "step,forward_error,central_error,extrapolated_error\n";
  for (const SweepPoint& p : points) {
    absl::StrAppendFormat(&text, "%.6e,%.6e,%.6e,%.6e\n", p.step, p.forward_error, p.central_error,
                          p.extrapolated_error);
  }
  return text;
}

LineChart sweep_chart(std::span<const SweepPoint> points, const std::string& example) {
  LineChart chart = {
      .title = absl::StrCat("Error of the numeric derivative against its step: ", example),
      .x_label = "step h",
      .y_label = "relative error",
      .log_x = true,
      .log_y = true};
  const std::pair<const char*, double SweepPoint::*> kErrors[] = {
      {"one-sided", &SweepPoint::forward_error},
      {"central", &SweepPoint::central_error},
      {"extrapolated", &SweepPoint::extrapolated_error}};
  for (const auto& [name, error] : kErrors) {
    Series& series = chart.series.emplace_back(Series{.name = name, .has_marks = false});
    for (const SweepPoint& p : points) {
      series.x.push_back(p.step);
      series.y.push_back(p.*error);
    }
  }
  return chart;
}

}  // namespace qkv
