#include "framework/gradcheck/differences.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_format.h"

namespace qkv {
namespace {

constexpr double kEpsilon = 0x1p-53;  // the relative error of one rounding
// Small enough that the extrapolated difference of a smooth function has no error but rounding's,
// large enough that rounding's stays below the tolerance.
constexpr double kStep = 0x1p-13;
constexpr double kWideStep = 0x1p-8;
// What the extrapolation cancels is c h²; what it leaves is c' h⁴. That it is at least so much less
// holds for every function that has its next singularity a few steps away.
constexpr double kNextTerm = 1.0 / 256.0;
// A slope whose error is within so many tolerances counts as settled.
constexpr double kLoose = 1e3;

// Where kStep does not do: 2⁻⁴, 2⁻⁵, … 2⁻²⁰
constexpr int kSteps = 17;
constexpr double step_of(int k) { return 0x1p-4 / static_cast<double>(int64_t{1} << k); }
using Sequence = std::array<double, kSteps>;  // quotients for these steps

struct Estimate {
  double value = std::numeric_limits<double>::quiet_NaN();
  double error = std::numeric_limits<double>::infinity();
  double step = 0.0;  // the smallest that it is made of
};

double allowed(const Tolerance& tolerance, double a, double b) {
  return tolerance.absolute + tolerance.relative * std::max(std::abs(a), std::abs(b));
}

// lim D(h) for h -> 0, from D(h), D(h / 2), D(h / 4). Central quotients are D + c2 h² + c4 h⁴ + …
// (base 4), one-sided ones D + c1 h + c2 h² + … (base 2); each column cancels one more power.
// Richardson, "The deferred approach to the limit", 1927.
Estimate extrapolate(const double* d, double base) {
  const double a = d[1] + (d[1] - d[0]) / (base - 1.0);
  const double b = d[2] + (d[2] - d[1]) / (base - 1.0);
  const double c = b + (b - a) / (base * base - 1.0);
  return {c, std::max(std::abs(c - b), std::abs(b - a))};
}

constexpr int kWindows = kSteps - 2;
using Windows = std::array<Estimate, kWindows>;  // the estimates of all scales

Windows extrapolate_all(const Sequence& quotients, double base, double noise) {
  Windows windows;
  for (int k = 0; k < kWindows; ++k) {
    windows[k] = extrapolate(&quotients[k], base);
    windows[k].step = step_of(k + 2);
    windows[k].error += 4.0 * noise / windows[k].step;
  }
  return windows;
}

// The estimate of the scale that settles best, and as its error what the scales that settle nearly
// as well make of it.
Estimate best_of(const Windows& windows) {
  Estimate best;
  for (const Estimate& window : windows) {
    if (window.error < best.error) best = window;
  }
  double error = best.error;
  for (const Estimate& window : windows) {
    if (window.error <= 4.0 * best.error) {
      error = std::max(error, std::abs(window.value - best.value));
    }
  }
  return {best.value, error, best.step};
}

// Where nothing settles, the smallest of the errors is luck, and the middle one is not.
double middle_error(const Windows& windows) {
  std::vector<double> errors;
  for (const Estimate& window : windows) {
    if (std::isfinite(window.error)) errors.push_back(window.error);
  }
  std::ranges::sort(errors);
  return errors[errors.size() / 2];
}

// Whether a kink stands between two steps, negative ones on the left.
using KinkBetween = absl::FunctionRef<bool(double near, double far)>;

// Where f leaves its tangent as it does nowhere nearer, a kink may stand: |f(x ± h) - f(x) ∓ h
// slope| is about c h² on the near side of a kink, and much more beyond it.
bool has_kink_aside(const Sequence& quotients, double side, double slope, double noise,
                    KinkBetween kink_between) {
  for (int k = 0; k + 1 < kSteps; ++k) {
    const double far = std::abs(quotients[k] - slope) * step_of(k);
    const double near = std::abs(quotients[k + 1] - slope) * step_of(k + 1);
    const bool leaves = far > 64.0 * std::max(near, 16.0 * noise);
    if (leaves && kink_between(side * 0.75 * step_of(k + 1), side * step_of(k))) return true;
  }
  return false;
}

Slope slope_of(const Sequence& left, const Sequence& right, double noise, double analytic,
               const Tolerance& tolerance, KinkBetween kink_between) {
  Sequence central;
  for (int k = 0; k < kSteps; ++k) central[k] = 0.5 * (left[k] + right[k]);
  const Windows windows = extrapolate_all(central, 4.0, noise);
  const Estimate two_sided = best_of(windows);
  Slope slope = {.value = two_sided.value, .error = two_sided.error};
  if (!std::isfinite(slope.value)) {
    slope.kind = Slope::Kind::kNotFinite;
    return slope;
  }
  const bool settled = slope.error <= kLoose * allowed(tolerance, slope.value, 0.0);
  if (settled &&
      std::abs(analytic - slope.value) <= allowed(tolerance, analytic, slope.value) + slope.error) {
    if (has_kink_aside(left, -1.0, slope.value, noise, kink_between) ||
        has_kink_aside(right, 1.0, slope.value, noise, kink_between)) {
      slope.kind = Slope::Kind::kKinkAside;
    } else if (two_sided.step < 0.5 * kStep) {
      slope.kind = Slope::Kind::kSmallerSteps;
    }
    return slope;
  }
  const Estimate l = best_of(extrapolate_all(left, 2.0, noise));
  const Estimate r = best_of(extrapolate_all(right, 2.0, noise));
  const double jump = std::abs(l.value - r.value);
  if (jump > 10.0 * (l.error + r.error) && jump > allowed(tolerance, l.value, r.value)) {
    const double reach = 4.0 * std::max(l.step, r.step);
    const bool kink = kink_between(-reach, reach);
    slope.kind = kink ? Slope::Kind::kKinkHere : Slope::Kind::kUnsettled;
    slope.left = l.value;
    slope.right = r.value;
    slope.error = kink ? std::max(l.error, r.error) : jump;
  } else if (!settled) {
    slope.kind = Slope::Kind::kUnsettled;
    slope.error = middle_error(windows);
  }
  return slope;
}

}  // namespace

Agreement compare(double analytic, const Slope& slope, const Tolerance& tolerance) {
  Agreement result = {.analytic = analytic,
                      .numeric = slope.value,
                      .error = std::abs(analytic - slope.value),
                      .estimated_error = slope.error,
                      .tolerance = allowed(tolerance, analytic, slope.value) + slope.error};
  const auto conclude = [&](Verdict verdict, std::string note) {
    result.verdict = verdict;
    result.note = std::move(note);
    return result;
  };
  if (!std::isfinite(analytic)) return conclude(Verdict::kFail, "the gradient is not finite");
  if (slope.kind == Slope::Kind::kNotFinite || !std::isfinite(slope.value)) {
    return conclude(Verdict::kFail, "the function is not finite near the point");
  }
  if (slope.kind == Slope::Kind::kKinkHere) {
    const auto [low, high] = std::minmax(slope.left, slope.right);
    const std::string sides = absl::StrFormat(
        "a kink at the point: slope %.6g on the left, %.6g on the right", slope.left, slope.right);
    if (analytic >= low - result.tolerance && analytic <= high + result.tolerance) {
      return conclude(Verdict::kUndecided, sides + "; move_by checks beside it");
    }
    return conclude(Verdict::kFail, sides + "; the gradient is not between them");
  }
  if (slope.kind == Slope::Kind::kUnsettled) {
    const bool apart = result.error > 10.0 * slope.error;
    return conclude(apart ? Verdict::kFail : Verdict::kUndecided,
                    "the differences settle at no step");
  }
  if (!(result.error <= result.tolerance)) return conclude(Verdict::kFail, "");
  if (slope.kind == Slope::Kind::kKinkAside) result.note = "a kink near the point: smaller steps";
  if (slope.kind == Slope::Kind::kSmallerSteps) result.note = "smaller steps";
  return result;
}

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

std::vector<double> Rows::noise(const double* y) const {
  const size_t outputs = cotangent_.size();
  std::vector<double> noise(size());
  double mean = 0.0, squares = 0.0;
  for (size_t k = 0; k < outputs; ++k) {
    mean += std::abs(y[k]) / static_cast<double>(outputs);
    squares += cotangent_[k] * cotangent_[k] * y[k] * y[k];
  }
  if (each_output_) {
    for (size_t k = 0; k < outputs; ++k) noise[k] = kEpsilon * (std::abs(y[k]) + mean);
  }
  noise.back() = kEpsilon * std::sqrt(squares);
  return noise;
}

Differences::Differences(const Rows& rows, const Array& y0, const Tolerance& tolerance)
    : rows_(rows),
      y0_(y0),
      noise_(rows.noise(y0.data<double>())),
      tolerance_(tolerance),
      coarse_(rows.size()),
      fine_(rows.size()) {}

Array Differences::at(Line line, double& t) {
  ++evaluations_;
  return line(t);
}

void Differences::slopes(Line line, double scale, std::span<const double> analytic,
                         std::span<Slope> slopes) {
  double t1 = kStep * scale, t2 = -t1, t3 = 0.5 * t1, t4 = -t3;
  const Array far_right = at(line, t1), far_left = at(line, t2);
  const Array right = at(line, t3), left = at(line, t4);
  rows_.quotients(far_right.data<double>(), far_left.data<double>(), t1 - t2, coarse_.data());
  rows_.quotients(right.data<double>(), left.data<double>(), t3 - t4, fine_.data());

  unsettled_.clear();
  for (size_t row = 0; row < slopes.size(); ++row) {
    const double cancelled = fine_[row] - coarse_[row];
    const double value = fine_[row] + cancelled / 3.0;
    const double error = kNextTerm * std::abs(cancelled) + 8.0 * noise_[row] / t1;
    const double limit = tolerance_.absolute + tolerance_.relative * std::abs(value);
    slopes[row].value = value;
    slopes[row].error = error;
    slopes[row].kind = Slope::Kind::kSmooth;
    const bool settled = error <= limit && std::abs(analytic[row] - value) <= limit + error;
    if (!settled) unsettled_.push_back(row);  // and where a NaN is
  }
  if (unsettled_.empty()) return;
  // Where the differences settle, there is no kink, and the gradient is something else, no further
  // step is needed. jump(h) = right(h) - left(h) is c h where f is smooth.
  const double* y0 = y0_.data<double>();
  const auto jumps = [&](const Array& high, const Array& low, double step) {
    std::vector<double> jump(rows_.size()), below(rows_.size());
    rows_.quotients(high.data<double>(), y0, step, jump.data());
    rows_.quotients(y0, low.data<double>(), step, below.data());
    for (size_t row = 0; row < jump.size(); ++row) jump[row] -= below[row];
    return jump;
  };
  const std::vector<double> wide = jumps(far_right, far_left, t1), narrow = jumps(right, left, t3);
  std::erase_if(unsettled_, [&](size_t row) {
    const double value = slopes[row].value;
    if (!(slopes[row].error <= allowed(tolerance_, value, value))) return false;
    if (!std::isfinite(analytic[row])) return true;
    return std::abs(2.0 * narrow[row] - wide[row]) <= 0.01 * std::abs(analytic[row] - value);
  });
  if (!unsettled_.empty()) widen(line, scale, analytic, slopes);
  if (!unsettled_.empty()) settle(line, scale, analytic, slopes);
}

// Where rounding kept a smooth function from settling, larger steps with one more level do.
void Differences::widen(Line line, double scale, std::span<const double> analytic,
                        std::span<Slope> slopes) {
  std::array<std::vector<double>, 3> quotients;
  double h = kWideStep * scale;
  for (std::vector<double>& quotient : quotients) {
    double up = h, down = -h;
    const Array high = at(line, up), low = at(line, down);
    quotient.resize(rows_.size());
    rows_.quotients(high.data<double>(), low.data<double>(), up - down, quotient.data());
    h /= 2.0;
  }
  std::erase_if(unsettled_, [&](size_t row) {
    const double d[] = {quotients[0][row], quotients[1][row], quotients[2][row]};
    const Estimate estimate = extrapolate(d, 4.0);
    const double error = estimate.error + 2.0 * noise_[row] / h;
    const double limit = allowed(tolerance_, estimate.value, estimate.value);
    if (!(error <= limit && std::abs(analytic[row] - estimate.value) <= limit + error))
      return false;
    slopes[row].value = estimate.value;
    slopes[row].error = error;
    return true;
  });
}

void Differences::settle(Line line, double scale, std::span<const double> analytic,
                         std::span<Slope> slopes) {
  std::vector<Sequence> left(unsettled_.size()), right(unsettled_.size());
  std::vector<double> below(rows_.size()), above(rows_.size());
  const double* y0 = y0_.data<double>();
  for (int k = 0; k < kSteps; ++k) {
    double up = step_of(k) * scale, down = -up;
    const Array high = at(line, up), low = at(line, down);
    rows_.quotients(high.data<double>(), y0, up, above.data());
    rows_.quotients(y0, low.data<double>(), -down, below.data());
    for (size_t i = 0; i < unsettled_.size(); ++i) {
      right[i][k] = above[unsettled_[i]];
      left[i][k] = below[unsettled_[i]];
    }
  }
  for (size_t i = 0; i < unsettled_.size(); ++i) {
    const size_t row = unsettled_[i];
    const auto kink_between = [&](double near, double far) {
      return has_kink_between(line, scale, row, near, far);
    };
    slopes[row] =
        slope_of(left[i], right[i], noise_[row] / scale, analytic[row], tolerance_, kink_between);
  }
}

// Looks ever closer at the place that bends most. The second difference of steps h, divided by h,
// is how far the slopes on both sides are apart: it goes to 0 with h where f is smooth, and stays
// at a kink.
bool Differences::has_kink_between(Line line, double scale, size_t row, double near, double far) {
  constexpr int kMostHalvings = 48;
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
  for (int halvings = 0; halvings <= kMostHalvings; ++halvings) {
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
  const auto [least, most] = std::minmax_element(apart.end() - kStays, apart.end());
  return *most <= 2.3 * *least;
}

}  // namespace qkv
