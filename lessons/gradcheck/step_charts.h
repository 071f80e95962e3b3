#pragma once

#include <string>

#include "lessons/gradcheck/findings.h"

namespace qkv {

// HTML: the V curve of a function, and the Taylor remainders of one of its inputs with the slopes 1
// and 2 beside it: of one that did not pass, where there is one. Or why there is none.
std::string charts_of(const CheckedFunction& function);

}  // namespace qkv
