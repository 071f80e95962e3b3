//   y = erf(x)                         x, y, dy, dx: one shape
//   dx = 2 / sqrt(pi) exp(-x²) dy,  ẏ = 2 / sqrt(pi) exp(-x²) ẋ

#include "framework/ops/support/op_kit.h"

namespace qkv {

Tensor erf(const Tensor& x) {
  return unary_op("erf", kernels::Unary::erf, x,
                  {.from_input =
                       [](const Tensor& input, const Tensor& dy) {
                         return 2 * kInverseSqrtPi<Float128> * (exp(-(input * input)) * dy);
                       },
                   .derivative =
                       [](Float128 input, Float128) {
                         return 2 * kInverseSqrtPi<Float128> * float128::exp(-input * input);
                       }});
}

OpExamples erf_examples() { return unary_examples("erf", erf); }

}  // namespace qkv
