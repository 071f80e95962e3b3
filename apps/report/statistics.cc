#include "apps/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "train/folder/reading_progress.h"

namespace qkv {
namespace {

double count_of(std::span<const double> samples) { return static_cast<double>(samples.size()); }

}  // namespace

double mean_of(std::span<const double> samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / count_of(samples);
}

double deviation_of(std::span<const double> samples) {
  if (samples.size() < 2) return 0;
  const double mean = mean_of(samples);
  double squares = 0;
  for (const double x : samples) squares += (x - mean) * (x - mean);
  return std::sqrt(squares / (count_of(samples) - 1));
}

double error_of_mean(std::span<const double> samples) {
  return deviation_of(samples) / std::sqrt(count_of(samples));
}

// Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
double chance_of(double errors, size_t samples) {
  if (samples < 2) return 1;
  const auto freedom = static_cast<double>(samples - 1);
  const double angle = std::atan(std::abs(errors) / std::sqrt(freedom)), cosine = std::cos(angle);
  const bool is_odd = samples % 2 == 0;
  double term = is_odd ? cosine : 1, sum = freedom > 1 ? term : 0;
  for (double k = is_odd ? 3 : 2; k < freedom; k += 2) {
    term *= (k - 1) / k * cosine * cosine;
    sum += term;
  }
  const double within = std::sin(angle) * sum;
  return std::max(0.0, 1 - (is_odd ? 2 / std::numbers::pi * (angle + within) : within));
}

double errors_of_95_percent(size_t samples) {
  if (samples < 2) return std::numeric_limits<double>::infinity();
  double low = 0, high = 16;  // more than what two samples need
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (chance_of(middle, samples) > 0.05 ? low : high) = middle;
  }
  return high;
}

double growth_exponent(std::span<const double> x, std::span<const double> y) {
  double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double u = std::log(x[i]), v = std::log(y[i]);
    sum_x += u;
    sum_y += v;
    sum_xx += u * u;
    sum_xy += u * v;
  }
  const double n = static_cast<double>(x.size());
  return (n * sum_xy - sum_x * sum_y) / (n * sum_xx - sum_x * sum_x);
}

std::string format_number(double x, Unit unit) {
  if (unit == Unit::kWhole) return absl::StrFormat("%.0f", x);
  if (unit == Unit::kShare) return format_percent(x);
  if (unit == Unit::kSeconds) return format_duration(x);
  const double size = std::abs(x);
  if (unit == Unit::kLoss && !(size < 1e-3)) return absl::StrFormat("%.4f", x);
  if (x == 0) return "0";
  if (std::isfinite(x) && (size < 1e-3 || size >= 1e7)) return absl::StrFormat("%.1e", x);
  return size < 1e4 ? absl::StrFormat("%.4g", x) : absl::StrFormat("%.0f", x);
}

std::string format_samples(std::span<const double> samples, Unit unit) {
  if (samples.empty()) return "";
  std::string mean = format_number(mean_of(samples), unit);
  if (samples.size() == 1) return mean;
  const double deviation = deviation_of(samples), size = std::abs(mean_of(samples));
  constexpr double kNothing = 1e-20, kRounding = 1e-9;  // a share of the mean
  if (unit == Unit::kNumber && size < kNothing && deviation < kNothing) return "0";
  if (unit == Unit::kNumber && deviation <= kRounding * size) return mean;
  if (unit == Unit::kShare) {
    return absl::StrFormat("%s ± %.1f %%", mean.substr(0, mean.find(' ')), 100 * deviation);
  }
  const bool has_places = deviation < 99.5 || deviation >= 1e7;
  return absl::StrCat(mean, " ± ",
                      has_places ? absl::StrFormat("%.2g", deviation) : format_number(deviation));
}

}  // namespace qkv
