#pragma once

#include <span>

#include "framework/gradcheck/formula_check.h"

// Checks of derivatives without a step: other ways to compute the same number, and how much of it
// f64 keeps.
namespace qkv {

// Fills in each report's dot_product, composed and forward, and its verdict.
void check_exactly(const Probe& f, const Recorded& recorded, const FormulaCheck& formula,
                   std::span<InputReport> reports);

// <u, Hw> against <w, Hu>, with H the second derivatives of the dot product of f with `cotangent`.
Agreement check_symmetry(const Probe& f, std::span<const Float128> cotangent, RandomStream stream);

// Fills in each report's in_f64 and digits, and its verdict: the gradient that training's backward
// gives in f64, beside the same in f128.
//
// The effect of rounding is measured: f and its gradient run a few times in f128 with the roundings
// of f64 (Roundings). The largest change of an element, times a factor for the chance of so few
// runs, bounds what f64 may lose there. Less than that says nothing of a kernel; more is a mistake
// in it.
void check_in_f64(const TensorFunction& f, std::span<const Tensor> inputs, const Probe& wide,
                  const FormulaCheck& formula, const RandomStream& stream,
                  std::span<InputReport> reports);

}  // namespace qkv
