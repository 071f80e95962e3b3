#pragma once

#include <span>

#include "framework/gradcheck/formula_check.h"

// What derivatives are held against that needs no step: other ways to compute the same number.
namespace qkv {

// Fills in each report's dot_product, composed and forward, and its verdict.
void check_exactly(const Probe& f, const Recorded& recorded, const FormulaCheck& formula,
                   std::span<InputReport> reports);

// <u, Hw> against <w, Hu>, with H the second derivatives of the dot product of f with `cotangent`.
Agreement check_symmetry(const Probe& f, std::span<const Scalar> cotangent, RandomStream stream);

}  // namespace qkv
