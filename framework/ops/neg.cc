//   y = -x                             x, y, dy, dx: one shape
//   dx = -dy,  ẏ = -ẋ

#include "framework/ops/kit.h"

namespace qkv {

Tensor neg(const Tensor& x) {
  return unary_op("neg", kernels::Unary::neg, x,
                  {.from_dy = [](const Tensor& dy) { return -dy; },
                   .derivative = [](Scalar, Scalar) -> Scalar { return -1; }});
}

OpExamples neg_examples() { return unary_examples("neg", neg); }

}  // namespace qkv
