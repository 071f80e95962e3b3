#pragma once

#include <span>

#include "framework/gradcheck/formula_check.h"

// How much of a gradient f64 keeps.
namespace qkv {

// Fills in each report's in_f64 and digits, and its verdict: the gradient that training's backward
// gives in f64, beside the same in f128.
//
// What rounding may do is measured: f and its gradient run a few times in f128 with the roundings
// of f64 (roundings.h). The largest change of an element, times a factor for the chance of so few
// runs, bounds what f64 may lose there. Less than that says nothing of a kernel; more is a mistake
// in it.
void check_in_f64(const TensorFunction& f, std::span<const Tensor> inputs, const Probe& wide,
                  const FormulaCheck& formula, const RandomStream& stream,
                  std::span<InputReport> reports);

}  // namespace qkv
