#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/report/figure.h"
#include "framework/gradcheck/gradcheck.h"

namespace qkv {

// How wrong a numeric derivative is, by its step h. A large h is off by the terms that the formula
// leaves out (h one-sided, h² central, h⁶ extrapolated), a small one by rounding (1e-16 / h): the
// error falls, and rises again, like a V. Where backward is wrong there is no V: the error stays.
struct SweepPoint {
  double step = 0.0;
  // |numeric - analytic| / |analytic| of the slope of f in a random direction
  double forward_error = 0.0;       // (f(x + h) - f(x)) / h
  double central_error = 0.0;       // (f(x + h) - f(x - h)) / 2h
  double extrapolated_error = 0.0;  // Richardson, from the central differences of h, h/2 and h/4
};

// From h = 1 down to 1e-15, four steps a decade. Throws Error as gradcheck does, and where f is
// constant in every direction.
std::vector<SweepPoint> step_sweep(const TensorFunction& f, std::span<const Tensor> inputs,
                                   uint64_t seed = 1);

// "step,forward_error,central_error,extrapolated_error", and a line for each point.
std::string sweep_csv(std::span<const SweepPoint> points);

// The three curves, both axes logarithmic.
LineChart sweep_chart(std::span<const SweepPoint> points, const std::string& example);

}  // namespace qkv
