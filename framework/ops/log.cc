//   y = log(x)                         x, y, dy, dx: one shape
//   dx = dy / x,  ẏ = ẋ / x
//
// As IEEE has it: log(0) is -inf with an infinite derivative, and a negative x gives NaN.

#include "framework/ops/support/op_kit.h"

namespace qkv {

Tensor log(const Tensor& x) {
  return unary_op("log", kernels::Unary::log, x,
                  {.from_input = [](const Tensor& input, const Tensor& dy) { return dy / input; },
                   .derivative = [](Float128 input, Float128) { return 1 / input; }});
}

OpExamples log_examples() { return unary_examples("log", log, Fill::kPositive); }

}  // namespace qkv
