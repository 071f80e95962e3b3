#pragma once

#include "framework/core/array.h"

namespace qkv::kernels {

// One product of matmul on oneDNN; the shapes and flags are those of matmul.h, none is empty.
// False, and c is left alone, for a type that oneDNN does not have here, and where it was wrong
// about such products when it was tested at the first; a line on standard error says so once.
// The only room that names oneDNN is dnnl.cc.
[[nodiscard]] bool dnnl_matmul(const Array& a, const Array& b, bool transpose_a, bool transpose_b,
                               const Array* bias, Array& c);

}  // namespace qkv::kernels
