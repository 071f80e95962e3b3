#pragma once

#include "framework/core/array.h"

namespace qkv::kernels {

// One product of matmul on oneDNN; the shapes and flags are those of matmul.h, none is empty.
// False, and c is left alone, where oneDNN turned out to be wrong about such products when it was
// put to the test at the first of them; the first time of all, a line on standard error says so.
// The only room that names oneDNN is dnnl.cc.
[[nodiscard]] bool dnnl_matmul(const Array& a, const Array& b, bool transpose_a, bool transpose_b,
                               const Array* bias, Array& c);

}  // namespace qkv::kernels
