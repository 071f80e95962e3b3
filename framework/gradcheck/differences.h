#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "framework/core/array.h"
#include "framework/gradcheck/gradcheck_report.h"
#include "framework/gradcheck/tolerance.h"

// Derivatives by differences, for gradcheck.
namespace qkv {

// A derivative, and what is known of it.
struct Slope {
  enum class Kind {
    kSmooth,
    kSmallerSteps,  // strongly bent, but smooth
    kKinkAside,     // smaller steps stayed on one side of a kink
    kKinkHere,      // `left` and `right` differ
    kUnsettled,     // no step settles it
    kNotFinite,
  };
  double value = std::numeric_limits<double>::quiet_NaN();
  double error = std::numeric_limits<double>::infinity();  // an estimate of it
  Kind kind = Kind::kSmooth;
  double left = 0.0, right = 0.0;
};

// |analytic - slope| against what the tolerance and the slope's own error allow.
Agreement compare(double analytic, const Slope& slope, const Tolerance& tolerance);

// What is differentiated: each output y[k], and then the dot product of all with the cotangent; or
// the latter alone.
class Rows {
 public:
  Rows(bool each_output, std::span<const double> cotangent)
      : each_output_(each_output), cotangent_(cotangent) {}

  bool each_output() const { return each_output_; }
  size_t size() const { return each_output_ ? cotangent_.size() + 1 : 1; }
  // out[row] = (row of high - row of low) / step: differences before the dot product, so that less
  // is cancelled
  void quotients(const double* high, const double* low, double step, double* out) const;
  // What rounding may do to each row of y.
  std::vector<double> noise(const double* y) const;

 private:
  bool each_output_;
  std::span<const double> cotangent_;
};

// A function along a line: sets `t` to the step as it was rounded, and gives y(x + t u).
using Line = absl::FunctionRef<Array(double& t)>;

// The derivatives at 0 of the rows along a line, with as few evaluations as settle them: four where
// the function is smooth at that scale and the analytic derivatives agree.
class Differences {
 public:
  Differences(const Rows& rows, const Array& y0, const Tolerance& tolerance);

  // slopes[row], for steps in units of `scale`
  void slopes(Line line, double scale, std::span<const double> analytic, std::span<Slope> slopes);
  int64_t evaluations() const { return evaluations_; }

 private:
  void widen(Line line, double scale, std::span<const double> analytic, std::span<Slope> slopes);
  void settle(Line line, double scale, std::span<const double> analytic, std::span<Slope> slopes);
  bool has_kink_between(Line line, double scale, size_t row, double near, double far);
  Array at(Line line, double& t);

  Rows rows_;
  Array y0_;
  std::vector<double> noise_;
  Tolerance tolerance_;
  int64_t evaluations_ = 0;
  std::vector<size_t> unsettled_;      // rows
  std::vector<double> coarse_, fine_;  // quotients for two steps
};

}  // namespace qkv
