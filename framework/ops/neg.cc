//   y = -x                             x, y, dy, dx: one shape
//   dx = -dy,  ẏ = -ẋ

#include "framework/ops/support/op_kit.h"

namespace qkv {

Tensor neg(const Tensor& x) {
  return unary_op("neg", kernels::Unary::neg, x,
                  {.from_dy = [](const Tensor& dy) { return -dy; },
                   .derivative = [](Float128, Float128) -> Float128 { return -1; }});
}

OpExamples neg_examples() { return unary_examples("neg", neg); }

}  // namespace qkv
