#pragma once

namespace qkv::kernels {

// The widest vector instructions that the kernels are compiled for: "AVX-512".
const char* instructions();

}  // namespace qkv::kernels
