#include "apps/report/axis.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace qkv {
namespace {

constexpr int kTicks = 5;
constexpr size_t kMostTicksAtData = 10;
constexpr double kMost = 1e300;            // beyond it differences are not finite
constexpr double kLeastDifference = 1e-9;  // beside the numbers: less is rounding

// The smallest of 1, 2 and 5 times a power of ten that is at least `x`.
double round_step(double x) {
  const double power = std::pow(10, std::floor(std::log10(x)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= x) return factor * power;
  }
  return 10 * power;
}

}  // namespace

Axis::Axis(const std::vector<double>& numbers, bool is_logarithmic)
    : is_logarithmic_(is_logarithmic) {
  bool first = true;
  for (const double x : numbers) {
    if (!shows(x)) continue;
    low_ = first ? x : std::min(low_, x);
    high_ = first ? x : std::max(high_, x);
    first = false;
  }
  if (first && is_logarithmic_) low_ = high_ = 1;  // there is nothing to show
  const double size = std::max(std::abs(low_), std::abs(high_));
  if (high_ - low_ > kLeastDifference * size) return;
  const double margin = std::max(1.0, size / 1000);
  low_ = is_logarithmic_ ? low_ / 2 : low_ - margin;
  high_ = is_logarithmic_ ? high_ * 2 : high_ + margin;
}

bool Axis::shows(double number) const {
  return std::abs(number) <= kMost && (!is_logarithmic_ || number >= 1 / kMost);
}

double Axis::place(double number) const {
  if (is_logarithmic_) {
    return (std::log(number) - std::log(low_)) / (std::log(high_) - std::log(low_));
  }
  return (number - low_) / (high_ - low_);
}

std::vector<double> Axis::ticks() const {
  std::vector<double> ticks;
  if (is_logarithmic_) {
    const int first = static_cast<int>(std::ceil(std::log10(low_) - 1e-9));
    const int last = static_cast<int>(std::floor(std::log10(high_) + 1e-9));
    const int step = std::max(1, (last - first + kTicks) / kTicks);
    for (int i = first; i <= last; i += step) ticks.push_back(std::pow(10, i));
    if (ticks.size() > 1) return ticks;
    return {low_, high_};
  }
  const double step = round_step((high_ - low_) / kTicks);
  for (double i = std::ceil(low_ / step - 1e-9); i * step <= high_ + 1e-9 * step; ++i) {
    ticks.push_back(i * step);
  }
  return ticks;
}

Axis x_axis(const LineChart& chart) {
  std::vector<double> numbers;
  for (const Series& series : chart.series) {
    numbers.insert(numbers.end(), series.x.begin(), series.x.end());
  }
  return {numbers, chart.log_x};
}

Axis y_axis(const LineChart& chart) {
  std::vector<double> numbers;
  for (const Series& series : chart.series) {
    for (size_t i = 0; i < series.y.size(); ++i) {
      const double spread = series.spread.empty() ? 0 : series.spread[i];
      numbers.insert(numbers.end(), {series.y[i] - spread, series.y[i] + spread});
    }
  }
  for (const auto& [name, y] : chart.levels) numbers.push_back(y);
  return {numbers, chart.log_y};
}

std::vector<double> x_ticks(const LineChart& chart, const Axis& axis) {
  std::set<double> different;
  for (const Series& series : chart.series) {
    for (const double x : series.x) {
      if (axis.shows(x)) different.insert(x);
    }
  }
  if (different.empty() || different.size() > kMostTicksAtData) return axis.ticks();
  return {different.begin(), different.end()};
}

}  // namespace qkv
