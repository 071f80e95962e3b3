#pragma once

#include <string>

namespace qkv::kernels {

// The library that multiplies matrices, as it was loaded: "oneDNN 2.6.3".
std::string product_library();

// The instructions of this processor that it uses, as its own number: "instructions 0xfff".
std::string product_instructions();

// The widest vector instructions that the kernels are compiled for: "AVX-512".
const char* instructions();

}  // namespace qkv::kernels
