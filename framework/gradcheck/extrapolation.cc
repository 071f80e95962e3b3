#include "framework/gradcheck/extrapolation.h"

#include <algorithm>
#include <cmath>

#include "framework/gradcheck/epsilon.h"

namespace qkv {
namespace {

// A derivative is a limit: what large steps make of it must agree with what all smaller ones do, as
// far as these can tell. Where the errors of many are estimated some are estimated too small.
bool agrees_with_smaller_steps(const Windows& windows, size_t k) {
  constexpr double kGross = 256.0;  // no estimate of an error is so much too small …
  constexpr size_t kMaxGross = 3;   // … more than a few times
  size_t smaller = 0, others = 0, gross = 0;
  for (size_t j = k + 1; j < windows.size(); ++j) {
    const Estimate &large = windows[k], &small = windows[j];
    if (!std::isfinite(small.value)) continue;
    const double difference = std::abs(large.value - small.value);
    const double error = large.error + small.error;
    if (4.0 * error > std::max(std::abs(large.value), std::abs(small.value))) continue;
    ++smaller;
    others += difference > 4.0 * error ? 1 : 0;
    gross += difference > kGross * error ? 1 : 0;
  }
  return 6 * others <= smaller && gross <= kMaxGross;
}

}  // namespace

Estimate extrapolate(const double* d, double base) {
  const double a = d[1] + (d[1] - d[0]) / (base - 1.0);
  const double b = d[2] + (d[2] - d[1]) / (base - 1.0);
  const double c = b + (b - a) / (base * base - 1.0);
  return {c, std::max(std::abs(c - b), std::abs(b - a))};
}

Windows extrapolate_all(const Sequence& quotients, const Sequence& moved, double first, double base,
                        double noise) {
  if (quotients.size() < 3) return {};
  Windows windows(quotients.size() - 2);
  double step = first / 4.0;
  for (size_t k = 0; k < windows.size(); ++k, step /= 2.0) {
    windows[k] = extrapolate(&quotients[k], base);
    windows[k].step = step;
    const double input_rounding = std::isfinite(moved[k]) ? kEpsilon * moved[k] : 0.0;
    windows[k].error += 4.0 * (noise + input_rounding) / step;
  }
  // An error that is much smaller than those of the scales beside it is luck.
  std::vector<double> errors;
  for (const Estimate& window : windows) errors.push_back(window.error);
  for (size_t k = 0; k < windows.size(); ++k) {
    for (const size_t beside : {k - 1, k + 1}) {
      if (beside >= errors.size() || !std::isfinite(errors[beside])) continue;
      windows[k].error = std::max(windows[k].error, 0.5 * errors[beside]);
    }
  }
  return windows;
}

Estimate best_of(const Windows& windows) {
  double smallest_error = std::numeric_limits<double>::infinity();
  std::vector<const Estimate*> possible;
  for (size_t k = 0; k < windows.size(); ++k) {
    if (!std::isfinite(windows[k].value) || !agrees_with_smaller_steps(windows, k)) continue;
    possible.push_back(&windows[k]);
    smallest_error = std::min(smallest_error, windows[k].error);
  }
  std::erase_if(possible,
                [&](const Estimate* e) { return !(e->error <= kNearlyAsWell * smallest_error); });
  const auto comes_first = [](const Estimate* a, const Estimate* b) {
    return a->sides_apart != b->sides_apart ? b->sides_apart : a->error < b->error;
  };
  const auto first = std::ranges::min_element(possible, comes_first);
  if (first == possible.end()) return {};
  Estimate best = **first;
  for (const Estimate* other : possible) {
    if (other->sides_apart != best.sides_apart) continue;
    best.error = std::max(best.error, std::abs(other->value - best.value));
  }
  return best;
}

double middle_error(const Windows& windows) {
  std::vector<double> errors;
  for (const Estimate& window : windows) {
    if (std::isfinite(window.error)) errors.push_back(window.error);
  }
  std::ranges::sort(errors);
  return errors[errors.size() / 2];
}

}  // namespace qkv
