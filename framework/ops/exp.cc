//   y = exp(x)                         x, y, dy, dx: one shape
//   dx = y dy,  ẏ = y ẋ

#include "framework/ops/support/op_kit.h"

namespace qkv {

Tensor exp(const Tensor& x) {
  return unary_op("exp", kernels::Unary::exp, x,
                  {.from_output = [](const Tensor& y, const Tensor& dy) { return y * dy; },
                   .derivative = [](Float128, Float128 y) { return y; }});
}

OpExamples exp_examples() { return unary_examples("exp", exp); }

}  // namespace qkv
