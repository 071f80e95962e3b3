#pragma once

#include <span>
#include <string>

#include "framework/core/shape.h"

namespace qkv {

// What term a gradient of x is short of, as a sentence, if it is one of
//
//   c dy, c x dy, c y dy                     with one number c: that of a sum or a product
//   c_r, c_r x, c_r y                        with a number for each row r along some axis: those of
//                                            functions that divide by a sum or a mean over it
//
// (softmax: -y sum(y dy); layer_norm: mean(dy) and y mean(y dy)); else "". All are of the shape of
// x, but for y and dy, which may have another: then terms of them are not looked for. `difference`
// is numeric - analytic, and is told to `precision`.
std::string explain_missing_term(const Shape& shape, std::span<const double> difference,
                                 std::span<const double> x, std::span<const double> y,
                                 std::span<const double> dy, double precision);

}  // namespace qkv
