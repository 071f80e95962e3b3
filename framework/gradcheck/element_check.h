#pragma once

#include <cstdint>
#include <span>

#include "framework/gradcheck/formula_check.h"

namespace qkv {

// Moves some elements of one input, each by itself, where the formula does not agree at a random
// direction. Fills in the report's verdict, counts and worst elements, of which there are `worst`
// at most: each element against the cotangent of `formula`, and where the Jacobian is small each of
// its entries.
NumericGradient check_elements(const Probe& f, const Recorded& recorded,
                               const FormulaCheck& formula, std::span<const int64_t> elements,
                               int worst, InputReport& report);

}  // namespace qkv
