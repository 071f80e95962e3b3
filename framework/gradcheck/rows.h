#pragma once

#include <cstdint>
#include <span>
#include <vector>

// What gradcheck differentiates, and its difference quotients.
namespace qkv {

// What f computes on the way may be larger than what comes out of it, but not by more than this.
inline constexpr double kLargestInside = 0x1p20;

// The difference quotients of one row, between a point and one on each side of it.
struct Quotient {
  double central = 0.0, above = 0.0, below = 0.0;

  double apart() const { return above > below ? above - below : below - above; }
  double steepest() const;
};

// What is differentiated: each output y[k], and then the dot product of all with the cotangent; or
// the latter alone.
class Rows {
 public:
  // `pieces`: how many outputs, one after the other, are of one size each. Of none: all.
  Rows(bool each_output, std::span<const double> cotangent, std::span<const int64_t> pieces = {})
      : each_output_(each_output), cotangent_(cotangent), pieces_(pieces.begin(), pieces.end()) {
    if (pieces_.empty()) pieces_.push_back(static_cast<int64_t>(cotangent.size()));
  }

  bool each_output() const { return each_output_; }
  size_t size() const { return each_output_ ? cotangent_.size() + 1 : 1; }
  // out[row] = (row of high - row of low) / step: differences before the dot product, so that less
  // is cancelled
  void quotients(const double* high, const double* low, double step, double* out) const;
  // `high` is `up` above y, and `low` `down` below it.
  void quotients(const double* high, double up, const double* y, double down, const double* low,
                 Quotient* out) const;
  bool same(size_t row, const double* y, const double* other) const;  // the same bits
  // What rounding may do to each row of y, out of the outputs of its piece that differ between
  // `high` and `low` by more: one that the input has no part in is rounded the same way each time.
  // Where none does, of all.
  void noise(const double* y, const double* high, const double* low, double* out) const;

 private:
  bool each_output_;
  std::span<const double> cotangent_;
  std::vector<int64_t> pieces_;
};

}  // namespace qkv
