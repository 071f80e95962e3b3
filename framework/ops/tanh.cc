//   y = tanh(x)                        x, y, dy, dx: one shape
//   dx = (1 - y²) dy,  ẏ = ẋ / cosh(x)²

#include "framework/ops/kit.h"

namespace qkv {

Tensor tanh(const Tensor& x) {
  return unary_op(
      "tanh", kernels::Unary::tanh, x,
      {.from_output = [](const Tensor& y, const Tensor& dy) { return (1.0 - y * y) * dy; },
       .derivative =
           [](Scalar input, Scalar) {
             const Scalar cosh = float128::cosh(input);
             return 1 / (cosh * cosh);
           }});
}

OpExamples tanh_examples() { return unary_examples("tanh", tanh); }

}  // namespace qkv
