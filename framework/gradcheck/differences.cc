#include "framework/gradcheck/differences.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "framework/gradcheck/conditioning.h"
#include "framework/gradcheck/epsilon.h"
#include "framework/gradcheck/extrapolation.h"

namespace qkv {
namespace {

constexpr double kWideStep = 0x1p-8;  // in units of the scale
// What the extrapolation cancels is c h²; what it leaves is c' h⁴. That it is at least so much less
// holds for every function that has its next singularity a few steps away.
constexpr double kNextTerm = 1.0 / 256.0;
// A derivative far below those beside it, by an error that is so small beside them, is known
// closely enough by a share of itself. A zero has none.
constexpr double kShareOfLargest = 1e-10, kShareOfItself = 1e-6;
constexpr double kLikelyNoise = 8.0;  // so many make an error of rounding
// Below so much of x it has too few numbers for a function of it to look smooth.
constexpr double kFewNumbers = 0x1p-48;
// An x so far below the scale may be a length of its own.
constexpr double kSmall = 0x1p-11;
// What differs by so many tolerances is no error of the differences.
constexpr double kFar = 100.0;

// An error that is not finite is within no limit, whatever that is.
bool is_within(double error, double limit) { return std::isfinite(error) && error <= limit; }

}  // namespace

Differences::Differences(const Rows& rows, const Array& y0, std::span<const GraphRounding> rounding,
                         const Tolerance& tolerance)
    : rows_(rows),
      y0_(y0),
      noise_(rows.size()),
      rounding_(rows.size()),
      rounding_on_the_way_(rounding),
      tolerance_(tolerance),
      acceptable_(rows.size()),
      coarse_(rows.size()),
      fine_(rows.size()) {
  const double* y = y0_.data<double>();
  rows_.noise(y, y, y, rounding_.data());
}

// The steps by which settle() looks: `first`, a half of it, … in units of the scale.
struct Differences::Rungs {
  double first;
  int count;
  bool first_look;
};

double Differences::allowed(size_t row, double a, double b) const {
  return allowed_of(tolerance_, a, b, expected_.beside[row]);
}

double Differences::rounding_of_zero(size_t row) const {
  const double value_rounding = (rows_.each_output() ? noise_ : rounding_)[row];
  return rounding_on_the_way_.empty() ? value_rounding
                                      : std::max(value_rounding, rounding_on_the_way_[row].worst);
}

double Differences::slack(size_t row) const {
  return expected_.spread.empty() ? 0.0 : kAllowedSpreads * expected_.spread[row];
}

double Differences::rare_noise(size_t row) const {
  const double inside = std::min(rounding_[row] + noise_of_line_, kLargestInside * noise_[row]);
  return kRareNoise * std::max(inside, noise_[row]);
}

Array Differences::at(Line line, double& t) {
  ++evaluations_;
  return line(t);
}

void Differences::slopes(Line line, const Start& start, const Expected& expected,
                         std::span<Slope> slopes) {
  // Where the function is smooth at its scale, or bends there; and wherever else it may be.
  static constexpr Rungs kNear = {.first = 0x1p-4, .count = 17, .first_look = true};
  static constexpr Rungs kNearer = {.first = 0x1p3, .count = 66, .first_look = true};
  static constexpr Rungs kEverywhere = {.first = 0x1p3, .count = 66, .first_look = false};
  const double scale = start.scale;
  expected_ = expected;
  least_ = kFewNumbers * std::abs(start.x.value_or(0.0));
  take_first_steps(line, scale, slopes);
  const std::vector<size_t> other_nearer = look_nearer(line, start, slopes);
  if (!unsettled_.empty()) settle_zeros(line, scale, slopes);
  if (!unsettled_.empty()) narrow(line, scale, slopes);
  if (!unsettled_.empty()) widen(line, scale, slopes);
  std::erase_if(unsettled_, [&](size_t row) { return acceptable_[row]; });
  if (!unsettled_.empty()) settle(line, scale, kNear, slopes);
  std::vector<size_t> unsettled = std::exchange(unsettled_, other_nearer);
  if (!unsettled_.empty()) settle(line, scale, kNearer, slopes);
  unsettled_.insert(unsettled_.end(), unsettled.begin(), unsettled.end());
  if (!unsettled_.empty()) settle(line, scale, kEverywhere, slopes);
}

// Two steps on each side settle what is smooth.
void Differences::take_first_steps(Line line, double scale, std::span<Slope> slopes) {
  double t1 = kDefaultStep * scale, t2 = -t1, t3 = 0.5 * t1, t4 = -t3;
  const Array far_right = at(line, t1), far_left = at(line, t2);
  const Array right = at(line, t3), left = at(line, t4);
  const double* y0 = y0_.data<double>();
  rows_.quotients(far_right.data<double>(), t1, y0, -t2, far_left.data<double>(), coarse_.data());
  rows_.quotients(right.data<double>(), t3, y0, -t4, left.data<double>(), fine_.data());
  rows_.noise(y0, far_right.data<double>(), far_left.data<double>(), noise_.data());
  for (size_t row = 0; row < noise_.size(); ++row) {
    if (!rounding_on_the_way_.empty()) {
      noise_[row] = std::max(noise_[row], rounding_on_the_way_[row].typical);
    }
    noise_[row] += noise_of_line_;
  }

  unsettled_.clear();
  for (size_t row = 0; row < slopes.size(); ++row) {
    const Quotient &coarse = coarse_[row], &fine = fine_[row];
    const double cancelled = fine.central - coarse.central;
    const double value = fine.central + cancelled / 3.0;
    // The same bits at five places: y does not know x.
    const bool is_constant = fine.central == 0.0 && coarse.central == 0.0 &&
                             expected_.derivatives[row] == 0.0 &&
                             rows_.same(row, right.data<double>(), y0);
    const double input_rounding = kEpsilon * coarse.steepest();
    const double error =
        kNextTerm * std::abs(cancelled) + kLikelyNoise * (noise_[row] / t1 + input_rounding);
    const double limit = allowed(row, value, value);
    slopes[row] = {.value = value, .error = error + rare_noise(row) / t1 + slack(row), .step = t3};
    const bool told =
        is_within(error, limit) || (error <= kShareOfLargest * expected_.beside[row] &&
                                    error <= kShareOfItself * std::abs(expected_.derivatives[row]));
    const bool settled =
        is_constant || (told && !sides_stay_apart(row, coarse, fine, t3) &&
                        std::abs(expected_.derivatives[row] - value) <= limit + slopes[row].error);
    // and where a NaN is
    if (!settled || (best_of_few_ && !(slopes[row].error <= limit))) unsettled_.push_back(row);
    acceptable_[row] = settled;
  }
}

// Where the differences settle, there is no kink, and the gradient is something else, no further
// step is needed.
bool Differences::is_clear(size_t row, const Slope& slope) const {
  const double analytic = expected_.derivatives[row];
  constexpr double kLittle = 0.01;
  if (!is_within(slope.error, tolerance_.relative * std::abs(slope.value))) return false;
  if (!std::isfinite(analytic)) return true;
  const Quotient &coarse = coarse_[row], &fine = fine_[row];
  const double off = std::abs(analytic - slope.value);
  // above - below is c h where f is smooth; central - value c h², and c h at a kink of the slope
  const double jump = 2.0 * (fine.above - fine.below) - (coarse.above - coarse.below);
  return !sides_stay_apart(row, coarse, fine, slope.step) &&
         off > kFar * allowed(row, analytic, slope.value) + slack(row) &&
         std::abs(jump) <= kLittle * std::min(off, std::abs(slope.value)) &&
         std::abs(fine.central - coarse.central) <= kLittle * off;
}

// The rows whose slope much nearer to the point is another one than that of the first steps: f
// changes over a length that is much smaller than these. Takes them and what is clear out of
// `unsettled_`. Looks where a length is known, that of a small x; at an x of 0, which has none; and
// before it is said that a gradient is wrong.
std::vector<size_t> Differences::look_nearer(Line line, const Start& start,
                                             std::span<const Slope> slopes) {
  const auto clear = [&](size_t row) { return is_clear(row, slopes[row]); };
  const bool any_clear = std::ranges::any_of(unsettled_, clear);
  const double x = std::abs(start.x.value_or(start.scale));
  const bool is_small = x < kSmall * start.scale;
  if (!any_clear && !is_small) return {};
  const bool has_length = is_small && x > 0.0;
  const double length = has_length ? x : start.scale;
  std::vector<double> steps;
  if (has_length) steps.push_back(length / 8.0);
  if (any_clear || !has_length) {
    for (const double step : {0x1p-20, 0x1p-30, 0x1p-40, 0x1p-50}) steps.push_back(step * length);
  }
  std::vector<char> is_other(slopes.size());
  for (const double step : steps) {
    const std::vector<Quotient> coarse = quotients_at(line, step),
                                fine = quotients_at(line, step / 2.0);
    for (size_t row = 0; row < slopes.size(); ++row) {
      is_other[row] |= is_another_slope(row, coarse[row], fine[row], step, slopes[row]);
    }
  }
  std::vector<size_t> other;
  for (size_t row = 0; row < slopes.size(); ++row) {
    if (is_other[row]) other.push_back(row);
  }
  std::erase_if(unsettled_, [&](size_t row) { return is_other[row] || clear(row); });
  return other;
}

// Whether `slope` is not that of the quotients for `step` and a half of it, by more than what these
// four points show of noise.
bool Differences::is_another_slope(size_t row, const Quotient& coarse, const Quotient& fine,
                                   double step, const Slope& slope) const {
  const double off = std::abs(fine.central - slope.value);
  if (!std::isfinite(off)) return false;
  // A function that does not move may have lost x beside what else it computes.
  const bool moves = coarse.steepest() > 0.0 || fine.steepest() > 0.0;
  const double allowed_here = allowed(row, fine.central, slope.value);
  if (!moves && std::abs(expected_.derivatives[row] - slope.value) <= allowed_here + slope.error)
    return false;
  // third and fourth differences
  const double odd = 2.0 * std::abs(coarse.central - fine.central),
               even = std::abs((coarse.above - coarse.below) - 2.0 * (fine.above - fine.below));
  const double rounding_error = rare_noise(row) / step + kRareNoise * kEpsilon * coarse.steepest();
  return off > 4.0 * (allowed_here + odd + even) + slope.error + rounding_error;
}

// As beside a peak that is narrower than the step, where both sides of the peak are as far below.
bool Differences::sides_stay_apart(size_t row, const Quotient& coarse, const Quotient& fine,
                                   double step) const {
  const double rounding_error = kRareNoise * (noise_[row] / step + kEpsilon * fine.steepest());
  return fine.apart() > kStayApart * coarse.apart() + rounding_error;
}

// A derivative that is zero but for rounding: f stays where it is for the largest steps, too.
void Differences::settle_zeros(Line line, double scale, std::span<Slope> slopes) {
  const auto limit = [&](size_t row) { return kZeroRounding * rounding_of_zero(row) / scale; };
  const auto may_be_zero = [&](size_t row) {
    return std::abs(expected_.derivatives[row]) <= limit(row);
  };
  if (!std::ranges::any_of(unsettled_, may_be_zero)) return;
  std::vector<double> largest(rows_.size()), moved(rows_.size());
  for (const double step : {1.0, -1.0, 0.5, -0.5, 0.25, -0.25}) {
    double t = step * scale;
    const Array y = at(line, t);
    rows_.quotients(y.data<double>(), y0_.data<double>(), scale, moved.data());
    for (size_t row = 0; row < moved.size(); ++row) {
      const double by = std::abs(moved[row]);  // a NaN stays
      largest[row] = by <= largest[row] ? largest[row] : by;
    }
  }
  std::erase_if(unsettled_, [&](size_t row) {
    if (!may_be_zero(row) || !(largest[row] <= kLikelyNoise * limit(row))) return false;
    slopes[row] = {.value = 0.0, .error = largest[row] + limit(row), .step = 0.25 * scale};
    return true;
  });
}

// Where a smooth function bends too much for two steps, a third and one more level do.
void Differences::narrow(Line line, double scale, std::span<Slope> slopes) {
  const double first = kDefaultStep * scale;
  const bool bends = std::ranges::any_of(unsettled_, [&](size_t row) {
    return kNextTerm * std::abs(fine_[row].central - coarse_[row].central) >
           kLikelyNoise * noise_[row] / first;
  });
  if (bends) extrapolate_rows({coarse_, fine_, quotients_at(line, first / 4.0)}, first, slopes);
}

// Where rounding kept a smooth function from settling, larger steps with one more level do.
void Differences::widen(Line line, double scale, std::span<Slope> slopes) {
  const double first = kWideStep * scale;
  extrapolate_rows(
      {quotients_at(line, first), quotients_at(line, first / 2.0), quotients_at(line, first / 4.0)},
      first, slopes);
}

std::vector<Quotient> Differences::quotients_at(Line line, double step) {
  double up = step, down = -step;
  const Array high = at(line, up), low = at(line, down);
  std::vector<Quotient> quotients(rows_.size());
  rows_.quotients(high.data<double>(), up, y0_.data<double>(), -down, low.data<double>(),
                  quotients.data());
  return quotients;
}

// `quotients` are those for `first`, first / 2 and first / 4.
void Differences::extrapolate_rows(const std::array<std::vector<Quotient>, 3>& quotients,
                                   double first, std::span<Slope> slopes) {
  const double h = first / 4.0;
  std::erase_if(unsettled_, [&](size_t row) {
    const double d[] = {quotients[0][row].central, quotients[1][row].central,
                        quotients[2][row].central};
    const Estimate estimate = extrapolate(d, 4.0);
    const double input_rounding = kEpsilon * quotients[0][row].steepest() * first;
    const double rounding_error = 4.0 * (noise_[row] + input_rounding) / h;
    const double error = estimate.error + rounding_error;
    const double limit = allowed(row, estimate.value, estimate.value);
    const bool settled = is_within(error, limit) ||
                         (best_of_few_ && is_within(estimate.error, kLikelyNoise * rounding_error));
    const double rare = error + rare_noise(row) / h + slack(row);
    const double off = std::abs(expected_.derivatives[row] - estimate.value);
    if (!(settled && off <= limit + error + slack(row))) return false;
    if (sides_stay_apart(row, quotients[1][row], quotients[2][row], h)) return false;
    if (acceptable_[row] && slopes[row].error <= rare) return false;
    slopes[row] = {.value = estimate.value, .error = rare, .step = h};
    acceptable_[row] = true;
    return !best_of_few_ || rare <= limit;
  });
}

void Differences::settle(Line line, double scale, const Rungs& rungs, std::span<Slope> slopes) {
  std::vector<Sequence> left(unsettled_.size()), right(unsettled_.size());
  std::vector<double> below(rows_.size()), above(rows_.size());
  const double* y0 = y0_.data<double>();
  double step = rungs.first * scale;
  for (int k = 0; k < rungs.count; ++k, step /= 2.0) {
    double up = step, down = -up;
    const Array high = at(line, up), low = at(line, down);
    if (up == 0.0 || down == 0.0 || (k >= 3 && step < least_)) break;  // x has few numbers so near
    rows_.quotients(high.data<double>(), y0, up, above.data());
    rows_.quotients(y0, low.data<double>(), -down, below.data());
    for (size_t i = 0; i < unsettled_.size(); ++i) {
      right[i].push_back(above[unsettled_[i]]);
      left[i].push_back(below[unsettled_[i]]);
    }
  }
  std::vector<size_t> still_unsettled;
  for (size_t i = 0; i < unsettled_.size(); ++i) {
    const size_t row = unsettled_[i];
    const auto kink_between = [&](double near, double far) {
      return has_kink_between(line, scale, row, near, far);
    };
    const Sides sides = {.left = left[i],
                         .right = right[i],
                         .first = rungs.first,
                         .noise = noise_[row] / scale,
                         .analytic = expected_.derivatives[row],
                         .beside = expected_.beside[row],
                         .tolerance = tolerance_,
                         .slack = slack(row),
                         .inside = rare_noise(row) / kRareNoise / scale,
                         .rounding = rounding_of_zero(row) / scale};
    slopes[row] = slope_of(sides, rungs.first_look, kink_between);
    slopes[row].step *= scale;
    if (compare(expected_.derivatives[row], slopes[row], tolerance_, expected_.beside[row])
            .verdict != Verdict::kPass) {
      still_unsettled.push_back(row);
    }
  }
  unsettled_ = std::move(still_unsettled);
}

// Looks ever closer at the place that bends most. The second difference of steps h, divided by h,
// is how far the slopes on both sides are apart: it goes to 0 with h where f is smooth, and stays
// at a kink.
bool Differences::has_kink_between(Line line, double scale, size_t row, double near, double far) {
  constexpr int kMaxHalvings = 48;
  constexpr std::ptrdiff_t kStays = 6;  // for so many steps
  std::vector<double> differences(rows_.size());
  const auto value = [&](double t) {
    rows_.quotients(at(line, t).data<double>(), y0_.data<double>(), 1.0, differences.data());
    return differences[row];
  };
  double begin = near * scale, h = (far - near) * scale / 4.0;
  std::array<double, 5> f;
  for (int i = 0; i < 5; ++i) f[i] = value(begin + i * h);
  std::vector<double> apart;  // for h, h / 2, h / 4, …
  for (int halvings = 0; halvings <= kMaxHalvings; ++halvings) {
    int place = 1;
    double bend = -1.0;
    for (int i = 1; i <= 3; ++i) {
      const double second = std::abs(f[i - 1] - 2.0 * f[i] + f[i + 1]);
      if (second > bend) place = i, bend = second;
    }
    const double rise =
        std::max(std::abs(f[place] - f[place - 1]), std::abs(f[place + 1] - f[place]));
    const double steepest = rise / std::abs(h);
    // Rounding moves the point by epsilon, and f by that times its slope.
    if (!(bend > 64.0 * (noise_[row] + kEpsilon * scale * steepest))) break;
    apart.push_back(bend / std::abs(h));
    begin += (place - 1) * h;
    h /= 2.0;
    f = {f[place - 1], value(begin + h), f[place], value(begin + 3.0 * h), f[place + 1]};
  }
  if (std::ssize(apart) < kStays) return false;  // nothing is seen of it above rounding
  // At a kink it is between a half and the whole, as the kink lies to the steps.
  const auto [smallest, largest] = std::minmax_element(apart.end() - kStays, apart.end());
  return *largest <= 2.3 * *smallest;
}

}  // namespace qkv
