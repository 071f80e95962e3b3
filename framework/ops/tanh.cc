//   y = tanh(x)                        x, y, dy, dx: one shape
//   dx = (1 - y²) dy,  ẏ = ẋ / cosh(x)²

#include "framework/ops/support/op_kit.h"

namespace qkv {

Tensor tanh(const Tensor& x) {
  return unary_op(
      "tanh", kernels::Unary::tanh, x,
      {.from_output = [](const Tensor& y, const Tensor& dy) { return (1.0 - y * y) * dy; },
       .derivative =
           [](Float128 input, Float128) {
             const Float128 cosh = float128::cosh(input);
             return 1 / (cosh * cosh);
           }});
}

OpExamples tanh_examples() { return unary_examples("tanh", tanh); }

}  // namespace qkv
