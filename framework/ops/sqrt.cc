//   y = sqrt(x)                        x, y, dy, dx: one shape
//   dx = dy / (2 y),  ẏ = ẋ / (2 y)
//
// As IEEE has it: the derivative at 0 is infinite, and a negative x gives NaN.

#include "framework/ops/support/op_kit.h"

namespace qkv {

Tensor sqrt(const Tensor& x) {
  return unary_op("sqrt", kernels::Unary::sqrt, x,
                  {.from_output = [](const Tensor& y, const Tensor& dy) { return 0.5 * dy / y; },
                   .derivative = [](Float128, Float128 y) { return 1 / (2 * y); }});
}

OpExamples sqrt_examples() { return unary_examples("sqrt", sqrt, Fill::kPositive); }

}  // namespace qkv
