#pragma once

#include <cstdint>

#include "framework/core/array.h"

namespace qkv::kernels {

// Every function here takes dense arrays of one shape (f32, f64 or f128; unary and binary also
// bf16, which they compute with as f32) and fills its last argument, of the same shape. The result
// may be one of the inputs.

// clang-format off
enum class Unary {
  neg, exp, log, sqrt, rsqrt, tanh, sigmoid, relu, erf,
  gelu_erf,   // x (1 + erf(x / sqrt(2))) / 2                            Hendrycks and Gimpel 2016
  gelu_tanh,  // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))) / 2
  silu,       // x sigmoid(x)
};
// clang-format on
void unary(Unary f, const Array& x, Array& y);
// dx = dy f'(x), for the activations: tanh, sigmoid, relu, gelu_erf, gelu_tanh, silu.
void unary_backward(Unary f, const Array& x, const Array& dy, Array& dx);

enum class Binary { add, sub, mul, div, pow, maximum };
void binary(Binary f, const Array& a, const Array& b, Array& y);

void scale(const Array& x, Scalar factor, Array& y);     // y = x factor
void add_scalar(const Array& x, Scalar term, Array& y);  // y = x + term
void pow_scalar(const Array& x, Scalar exponent, Array& y);

enum class Comparison { less, less_equal, equal, greater, greater_equal };
void compare(Comparison f, const Array& a, const Array& b, Array& mask);  // mask: boolean

void where(const Array& mask, const Array& a, const Array& b, Array& y);  // y = mask ? a : b
void masked_fill(const Array& x, const Array& mask, double value, Array& y);

void cast(const Array& x, Array& y);  // any type to any type

bool all_finite(const Array& x);        // no NaN, no infinity; true for integers and booleans
Scalar sum_of_squares(const Array& x);  // in f64, of f128 in f128, in a fixed order

}  // namespace qkv::kernels
