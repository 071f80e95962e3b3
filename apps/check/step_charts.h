#pragma once

#include <string>

#include "apps/check/findings.h"

namespace qkv {

// HTML: the V curve of a function, or why there is none.
std::string v_curve_of(const StepCurve& curve);

}  // namespace qkv
