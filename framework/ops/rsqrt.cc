//   y = 1 / sqrt(x)                    x, y, dy, dx: one shape
//   dx = -y³ dy / 2,  ẏ = -y ẋ / (2 x)
//
// As IEEE has it: rsqrt(0) is inf, and a negative x gives NaN.

#include "framework/ops/support/op_kit.h"

namespace qkv {

Tensor rsqrt(const Tensor& x) {
  return unary_op(
      "rsqrt", kernels::Unary::rsqrt, x,
      {.from_output = [](const Tensor& y, const Tensor& dy) { return -0.5 * (y * y * y * dy); },
       .derivative = [](Float128 input, Float128 output) { return -output / (2 * input); }});
}

OpExamples rsqrt_examples() { return unary_examples("rsqrt", rsqrt, Fill::kPositive); }

}  // namespace qkv
