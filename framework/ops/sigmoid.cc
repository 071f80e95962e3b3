//   y = 1 / (1 + exp(-x))              x, y, dy, dx: one shape
//   dx = y (1 - y) dy,  ẏ = ẋ / (2 cosh(x / 2))²

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

// y = (1 + tanh(x / 2)) / 2
Float128 sigmoid_derivative(Float128 x, Float128) {
  const Float128 cosh = float128::cosh(x / 2);
  return 1 / (4 * cosh * cosh);
}

}  // namespace

Tensor sigmoid(const Tensor& x) {
  return unary_op(
      "sigmoid", kernels::Unary::sigmoid, x,
      {.from_output = [](const Tensor& y, const Tensor& dy) { return y * (1.0 - y) * dy; },
       .derivative = sigmoid_derivative});
}

OpExamples sigmoid_examples() { return unary_examples("sigmoid", sigmoid); }

}  // namespace qkv
