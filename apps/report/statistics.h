#pragma once

#include <span>
#include <string>

namespace qkv {

// Statistics of measurements that were repeated, each with another seed.
double mean_of(std::span<const double> samples);
double deviation_of(std::span<const double> samples);  // divides by n - 1; 0 where n = 1
double error_of_mean(std::span<const double> samples);
// The probability that the mean lies at least `errors` standard errors from the true one, to either
// side: Student's t with n - 1 degrees of freedom. 1 for a single sample, whose spread is unknown.
double chance_of(double errors, size_t samples);
// The true mean lies within this number of them with 95 % confidence. Infinite for one sample.
double errors_of_95_percent(size_t samples);

// The p of the power of x that y grows as: the slope of log(y) over log(x), by least squares.
double growth_exponent(std::span<const double> x, std::span<const double> y);

enum class Unit {
  kNumber,   // four digits, and all of those before the point: "0.3183", "114688", "1.2e-15"
  kWhole,    // "127"
  kLoss,     // "0.0312"
  kShare,    // "98.2 %", never rounded up to 100 %
  kSeconds,  // "3 min 05 s"
};
std::string format_number(double x, Unit unit = Unit::kNumber);
// "0.3183 ± 0.0021", "98.2 ± 0.3 %"; "" of none. A number that is always the same has no spread.
std::string format_samples(std::span<const double> samples, Unit unit = Unit::kNumber);

}  // namespace qkv
