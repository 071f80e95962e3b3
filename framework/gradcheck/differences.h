#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "framework/core/array.h"
#include "framework/gradcheck/analytic.h"
#include "framework/gradcheck/rows.h"
#include "framework/gradcheck/slope.h"
#include "framework/gradcheck/tolerance.h"

// Derivatives by differences, for gradcheck.
namespace qkv {

// A function along a line: sets `t` to the step as it was rounded, and gives y(x + t u).
using Line = absl::FunctionRef<Array(double& t)>;

// What backward says of the rows along a line.
struct Expected {
  std::span<const double> derivatives;
  std::span<const double> beside;       // as in compare()
  std::span<const double> spread = {};  // of each derivative, by rounding; empty: unknown
};

// The start of a line.
struct Start {
  double scale = 1.0;            // the unit of the first steps
  std::optional<double> x = {};  // of the one element that moves
};

// The derivatives at 0 of the rows along a line, with as few evaluations as settle them: four where
// the function is smooth at that scale and the analytic derivatives agree.
class Differences {
 public:
  // `rounding` is the effect of roundings on each row (see Recorded); empty: unknown.
  Differences(const Rows& rows, const Array& y0, std::span<const GraphRounding> rounding,
              const Tolerance& tolerance);

  void add_noise(double noise) { noise_of_line_ = noise; }  // by the rounding of points on a line
  // The best of ten evaluations suffices, where only rounding keeps them from telling more.
  void take_best_of_few() { best_of_few_ = true; }

  // slopes[row]
  void slopes(Line line, const Start& start, const Expected& expected, std::span<Slope> slopes);
  int64_t evaluations() const { return evaluations_; }

 private:
  struct Rungs;
  void take_first_steps(Line line, double scale, std::span<Slope> slopes);
  bool is_clear(size_t row, const Slope& slope) const;
  std::vector<size_t> look_nearer(Line line, const Start& start, std::span<const Slope> slopes);
  bool is_another_slope(size_t row, const Quotient& coarse, const Quotient& fine, double step,
                        const Slope& slope) const;
  void settle_zeros(Line line, double scale, std::span<Slope> slopes);
  void narrow(Line line, double scale, std::span<Slope> slopes);
  void widen(Line line, double scale, std::span<Slope> slopes);
  std::vector<Quotient> quotients_at(Line line, double step);
  void extrapolate_rows(const std::array<std::vector<Quotient>, 3>& quotients, double first,
                        std::span<Slope> slopes);
  void settle(Line line, double scale, const Rungs& rungs, std::span<Slope> slopes);
  double slack(size_t row) const;
  double rare_noise(size_t row) const;
  bool sides_stay_apart(size_t row, const Quotient& coarse, const Quotient& fine,
                        double step) const;
  double rounding_of_zero(size_t row) const;
  double allowed(size_t row, double a, double b) const;
  bool has_kink_between(Line line, double scale, size_t row, double near, double far);
  Array at(Line line, double& t);

  Rows rows_;
  Array y0_;
  std::vector<double> noise_;     // of what moves
  std::vector<double> rounding_;  // of all
  std::span<const GraphRounding> rounding_on_the_way_;
  Tolerance tolerance_;
  double noise_of_line_ = 0.0;
  bool best_of_few_ = false;
  int64_t evaluations_ = 0;
  double least_ = 0.0;  // step
  Expected expected_;
  std::vector<size_t> unsettled_;  // rows
  std::vector<char> acceptable_;   // of the rows: settled, but perhaps not as well as it can be
  std::vector<Quotient> coarse_, fine_;  // for two steps
};

}  // namespace qkv
