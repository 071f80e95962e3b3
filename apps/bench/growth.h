#pragma once

#include <span>

namespace qkv {

// The p of the power of x that y grows as: the slope of log(y) over log(x), by least squares.
double growth_exponent(std::span<const double> x, std::span<const double> y);

}  // namespace qkv
