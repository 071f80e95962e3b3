#pragma once

#include <cstdint>

#include "framework/core/array.h"

namespace qkv::kernels {

// One product of matmul on oneDNN; the shapes and flags are those of matmul.h, none is empty.
// The only room that names oneDNN is dnnl.cc.
void dnnl_matmul(const Array& a, const Array& b, bool transpose_a, bool transpose_b,
                 const Array* bias, Array& c);

int64_t dnnl_primitives_created();

}  // namespace qkv::kernels
