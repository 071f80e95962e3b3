#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/gradcheck/differences.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/gradcheck/probe.h"

namespace qkv {

// What backward gives for one input.
struct InputGradient {
  bool depends = false;        // the graph holds the input; else the rest are zeros
  std::vector<double> rows;    // [elements of the input, rows]
  std::vector<double> spread;  // of each of them by rounding (see conditioning.h); of none: unknown

  std::span<const double> of(int64_t element) const { return of(rows, element); }
  std::span<const double> spread_of(int64_t element) const { return of(spread, element); }
  size_t rows_each = 1;
  std::vector<double> largest_effect;  // of each row: |derivative| x scale, over all elements

 private:
  std::span<const double> of(const std::vector<double>& numbers, int64_t element) const {
    return {numbers.data() + static_cast<size_t>(element) * rows_each, rows_each};
  }
};

// What differences say, for the diagnosis of a wrong gradient.
struct NumericGradient {
  std::vector<int64_t> elements = {};  // that were moved
  std::vector<double> analytic = {},
                      numeric = {};  // of the dot product with the cotangent, by these
  // With a full Jacobian, for each output: whether some entry is right and not zero, whether some
  // is wrong, and whether some is zero that should not be.
  std::vector<char> right = {}, wrong = {}, missing = {};
  bool only_missing = true;         // no entry is wrong in another way
  bool cotangent_is_right = false;  // `analytic` is, of all elements; single outputs are not
};

// Method 1: compares the rows' derivatives by some elements of one input with differences, and
// fills in the report's counts and worst elements. Gives the number of evaluations.
int64_t check_elements(const Probe& probe, size_t input, const Rows& rows,
                       std::span<const GraphRounding> rounding, const InputGradient& gradient,
                       std::span<const int64_t> elements, const GradcheckOptions& options,
                       InputReport& report, NumericGradient& numeric);

}  // namespace qkv
