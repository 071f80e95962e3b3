#pragma once

#include <vector>

#include "apps/report/figure.h"

namespace qkv {

// Where numbers stand between the ends of an axis.
class Axis {
 public:
  // An axis for these numbers. It leaves out those that are not finite, or have no logarithm.
  Axis(const std::vector<double>& numbers, bool is_logarithmic);

  bool shows(double number) const;
  double place(double number) const;  // 0 at the lower end, 1 at the upper
  double low() const { return low_; }
  double high() const { return high_; }

  // Some round numbers between the ends.
  std::vector<double> ticks() const;

 private:
  bool is_logarithmic_;
  double low_ = 0, high_ = 0;
};

Axis x_axis(const LineChart& chart);
Axis y_axis(const LineChart& chart);  // with the spreads and the levels
// Where there are few different x, these; otherwise round numbers.
std::vector<double> x_ticks(const LineChart& chart, const Axis& axis);

}  // namespace qkv
