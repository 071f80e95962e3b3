#pragma once

#include <string>

#include "framework/gradcheck/gradcheck.h"

namespace qkv {

// A sentence on the mistake in the gradient, if its pattern is known; else "". A pattern must
// explain the difference between analytic and numeric to a hundredth, at every element. With
// {.diagnose = diagnose} gradcheck puts it into its report.
std::string diagnose(const WrongGradient& c);

// "2", "1/3", "sqrt(5)", "-1/sqrt(8)"; "" for a number that is none of these to one in a million.
std::string recognizable(double number);

}  // namespace qkv
