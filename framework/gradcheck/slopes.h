#pragma once

#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "framework/gradcheck/probe.h"

// Derivatives by differences.
namespace qkv {

// How fast one output of f moves along a direction.
struct Slope {
  Scalar value = 0;
  Scalar error = 0;  // of the value, as two steps and the number type tell
  Scalar left = 0, right = 0;
  bool has_kink = false;  // left and right stay apart, however small the step
};

// Of each output, at t = 0 of f(x + t u). With the difference quotients c(h) of both sides, where
// c(h) = y' + O(h²):
//   y' = (4 c(h/2) - c(h)) / 3 + O(h⁴)          (Richardson 1911)
// for the first step of the arithmetic. Where that one leaves an output unsettled and its slopes
// are not enough for the caller: for the others, too. Thoroughly: then with steps that grow or
// shrink for as long as that tells more.
enum class Effort { kUsual, kThorough };
using EnoughSlopes = absl::FunctionRef<bool(std::span<const Slope>)>;
std::vector<Slope> slopes_along(
    const Probe& f, const Direction& u, Effort effort = Effort::kUsual,
    EnoughSlopes are_enough = [](std::span<const Slope>) { return false; });

}  // namespace qkv
