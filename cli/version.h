#pragma once

#include <string>

namespace qkv {

// What a bug report needs, in three lines: the version of qkv, what it was compiled with and for,
// and the library of its matrix products.
std::string version_text();

}  // namespace qkv
