//   y = erf(x)                         x, y, dy, dx: one shape
//   dx = 2 / sqrt(pi) exp(-x²) dy,  ẏ = 2 / sqrt(pi) exp(-x²) ẋ

#include "framework/ops/kit.h"

namespace qkv {

Tensor erf(const Tensor& x) {
  return unary_op("erf", kernels::Unary::erf, x,
                  {.from_input =
                       [](const Tensor& input, const Tensor& dy) {
                         return 2 * kInverseSqrtPi<Scalar> * (exp(-(input * input)) * dy);
                       },
                   .derivative =
                       [](Scalar input, Scalar) {
                         return 2 * kInverseSqrtPi<Scalar> * float128::exp(-input * input);
                       }});
}

OpExamples erf_examples() { return unary_examples("erf", erf); }

}  // namespace qkv
