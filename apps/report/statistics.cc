#include "apps/report/statistics.h"

#include <array>
#include <cmath>
#include <limits>
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

double errors_of_95_percent(size_t samples) {
  // Entries for 1, 2, … degrees of freedom. Student, "The probable error of a mean", 1908.
  static constexpr std::array kStudent = {12.706, 4.303, 3.182, 2.776, 2.571,
                                          2.447,  2.365, 2.306, 2.262, 2.228};
  if (samples < 2) return std::numeric_limits<double>::infinity();
  if (samples - 2 < kStudent.size()) return kStudent[samples - 2];
  // Cornish and Fisher's expansion around the normal distribution: three digits right from here on.
  constexpr double z = 1.95996, z3 = z * z * z, z5 = z3 * z * z;
  const double freedom = static_cast<double>(samples - 1);
  return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom);
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
  const double deviation = deviation_of(samples);
  if (unit == Unit::kShare) {
    return absl::StrFormat("%s ± %.1f %%", mean.substr(0, mean.find(' ')), 100 * deviation);
  }
  const bool has_places = deviation < 99.5 || deviation >= 1e7;
  return absl::StrCat(mean, " ± ",
                      has_places ? absl::StrFormat("%.2g", deviation) : format_number(deviation));
}

}  // namespace qkv
