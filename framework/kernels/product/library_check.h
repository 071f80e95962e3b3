#pragma once

#include "absl/functional/function_ref.h"
#include "framework/kernels/product/matrix_product.h"

namespace qkv::kernels {

// Multiplies matrices that stand in memory as a MatrixProduct says; bias is nullptr where it has
// none.
using Multiply = absl::FunctionRef<void(const void* a, const void* b, const void* bias, void* c)>;

// Whether `multiply` gives this product: every element of every matrix of c, and nothing besides.
// It is called once, on numbers made up here. They are small integers whose sums c holds exactly,
// so that a right answer passes in whatever order it was added up. (They have 7 bits: the other
// bits of f32 are not checked.) The answer is a function of the product and of `multiply` alone.
//
// c x is compared with a (b x), for a vector x: that looks at every element, in the time that it
// takes to read a, b and c (Freivalds, "Probabilistic machines can use less running time", 1977).
bool multiplies_rightly(const MatrixProduct& product, Multiply multiply);

}  // namespace qkv::kernels
