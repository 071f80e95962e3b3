#pragma once

#include "framework/core/dtype.h"

namespace qkv {

// Two numbers agree when |a - b| <= absolute + relative max(|a|, |b|). A NaN agrees with nothing.
struct Tolerance {
  double relative;
  double absolute;
};

// How closely a result computed in `dtype` must agree with the exact one. Everything that compares
// derivatives takes its tolerance from here.
inline Tolerance tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return {.relative = 1e-8, .absolute = 1e-10};
    case DType::f32:
      return {.relative = 1e-4, .absolute = 1e-5};
    case DType::bf16:
      return {.relative = 2e-2, .absolute = 2e-2};
    default:
      return {.relative = 0.0, .absolute = 0.0};  // indices and masks are equal or not
  }
}

}  // namespace qkv
