#pragma once

#include <string>

namespace qkv::kernels {

// The library that multiplies matrices, as it was loaded: "oneDNN 2.6.3".
std::string product_library();

}  // namespace qkv::kernels
