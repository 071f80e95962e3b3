#pragma once

#include <string>
#include <vector>

#include "framework/gradcheck/element_check.h"
#include "framework/gradcheck/gradcheck_report.h"

namespace qkv {

// What is wrong with a gradient that failed, as a sentence, if its pattern is known; else "".
// `contributions` is what each use of the input adds to the gradient (see Recorded).
std::string diagnose(const InputReport& report, const NumericGradient& gradient,
                     const std::vector<std::vector<double>>& contributions);

// "2", "1/3", "sqrt(5)", "-1/sqrt(8)", with what a perfect square may stand for: "2 = sqrt(4)";
// "" for a number that is none of these to one in a million.
std::string recognizable(double number);

}  // namespace qkv
