#include "framework/gradcheck/rows.h"

#include <algorithm>
#include <cmath>

#include "framework/gradcheck/analytic.h"
#include "framework/gradcheck/epsilon.h"

namespace qkv {

void Rows::quotients(const double* high, const double* low, double step, double* out) const {
  const size_t outputs = cotangent_.size();
  const double inverse = 1.0 / step;  // steps are powers of two but for rounding
  if (each_output_) {
    for (size_t k = 0; k < outputs; ++k) out[k] = (high[k] - low[k]) * inverse;
    out += outputs;
  }
  double sum = 0.0;
  for (size_t k = 0; k < outputs; ++k) sum += cotangent_[k] * (high[k] - low[k]);
  *out = sum * inverse;
}

void Rows::quotients(const double* high, double up, const double* y, double down, const double* low,
                     Quotient* out) const {
  const size_t outputs = cotangent_.size();
  const double whole = 1.0 / (up + down), right = 1.0 / up, left = 1.0 / down;
  const auto quotient = [&](double across, double above, double below) {
    return Quotient{.central = across * whole, .above = above * right, .below = below * left};
  };
  if (each_output_) {
    for (size_t k = 0; k < outputs; ++k)
      *out++ = quotient(high[k] - low[k], high[k] - y[k], y[k] - low[k]);
  }
  double across = 0.0, above = 0.0, below = 0.0;
  for (size_t k = 0; k < outputs; ++k) {
    across += cotangent_[k] * (high[k] - low[k]);
    above += cotangent_[k] * (high[k] - y[k]);
    below += cotangent_[k] * (y[k] - low[k]);
  }
  *out = quotient(across, above, below);
}

double Quotient::steepest() const { return std::max(std::abs(above), std::abs(below)); }

bool Rows::same(size_t row, const double* y, const double* other) const {
  const size_t outputs = cotangent_.size();
  const bool is_dot_product = !each_output_ || row == outputs;
  return is_dot_product ? std::equal(y, y + outputs, other) : y[row] == other[row];
}

void Rows::noise(const double* y, const double* high, const double* low, double* out) const {
  struct Sums {
    double sizes = 0.0, count = 0.0;
    void add(double size) { sizes += size, ++count; }
    double mean() const { return sizes / count; }
  };
  struct Weighted {
    double sum = 0.0, squares = 0.0, count = 0.0;
    void add(double size, double weight) {
      const double w = std::abs(weight) * size;
      sum += w, squares += w * w, ++count;
    }
  } weighted_moved, weighted_all;
  size_t k = 0;
  for (const int64_t piece : pieces_) {
    Sums moved, all;
    const size_t begin = k, end = begin + static_cast<size_t>(piece);
    for (; k < end; ++k) {
      const double size = std::abs(y[k]);
      all.add(size), weighted_all.add(size, cotangent_[k]);
      if (std::abs(high[k] - low[k]) > 8.0 * kEpsilon * size) {
        moved.add(size), weighted_moved.add(size, cotangent_[k]);
      }
    }
    if (!each_output_) continue;
    const double mean = (moved.count > 0.0 ? moved : all).mean();
    for (size_t i = begin; i < end; ++i) {
      const double moves = std::abs(high[i] - low[i]), size = std::abs(y[i]);
      const double cap = kLargestInside * std::max(size, moves);
      *out++ = kEpsilon * (size + (high == low || !(mean > cap) ? mean : cap));
    }
  }
  const Weighted& weighted = weighted_moved.count > 0.0 ? weighted_moved : weighted_all;
  *out = kEpsilon * norm_of(weighted.sum, weighted.squares, weighted.count);
}

}  // namespace qkv
