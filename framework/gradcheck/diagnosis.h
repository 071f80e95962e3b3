#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/gradcheck/formula_check.h"
#include "framework/gradcheck/gradcheck_report.h"

namespace qkv {

// What a gradient that failed is of: numbers of the input x, of y = f(x) and of the cotangent dy.
struct DiagnosisCase {
  const InputReport& report;
  const NumericGradient& gradient;
  std::vector<double> x, y, dy;
  NamedNumbers others = {};                        // of the other inputs, and of what the ops save
  std::vector<std::vector<double>> contributions;  // of each use of the input (see Recorded)
  bool is_linear = true;  // the gradient for dy is the sum of those of the outputs, times dy
};

// What is wrong with the gradient, as a sentence, if its pattern is known; else "". A pattern must
// explain the difference between analytic and numeric to a hundredth, at every element.
std::string diagnose(const DiagnosisCase& c);

// "2", "1/3", "sqrt(5)", "-1/sqrt(8)"; "" for a number that is none of these to one in a million.
std::string recognizable(double number);

}  // namespace qkv
