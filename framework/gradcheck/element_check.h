#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/gradcheck/backward_rows.h"
#include "framework/gradcheck/gradcheck.h"

namespace qkv {

// What differences say, for the diagnosis of a wrong gradient.
struct NumericGradient {
  std::vector<int64_t> elements = {};  // that were moved
  // The derivatives of the dot product with the cotangent, by these; `error` is that of `numeric`.
  std::vector<double> analytic = {}, numeric = {}, error = {};
  // With a full Jacobian, for each output: whether some entry is right and not zero, whether some
  // is wrong, and whether some is zero that should not be.
  std::vector<char> right = {}, wrong = {}, missing = {};
  bool only_missing = true;         // no entry is wrong in another way
  bool cotangent_is_right = false;  // `analytic` is right in all elements; single outputs are not
};

// Method 1: compares the rows' derivatives by some elements of one input with differences, and
// fills in the report's counts and worst elements. Gives the number of evaluations.
int64_t check_elements(const BackwardRows& backward, size_t input,
                       std::span<const int64_t> elements, const GradcheckOptions& options,
                       InputReport& report, NumericGradient& numeric);

}  // namespace qkv
