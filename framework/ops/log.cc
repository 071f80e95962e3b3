//   y = log(x)                         x, y, dy, dx: one shape
//   dx = dy / x,  ẏ = ẋ / x
//
// As IEEE has it: log(0) is -inf with an infinite derivative, and a negative x gives NaN.

#include "framework/ops/examples.h"
#include "framework/ops/ops.h"
#include "framework/ops/rules.h"
#include "framework/ops/unary.h"

namespace qkv {
namespace {

Tensor log_gradient(const Tensor& x, const Tensor& dy) { return dy / x; }

}  // namespace

Tensor log(const Tensor& x) {
  return unary_op("log", kernels::Unary::log, x,
                  {.from_input = log_gradient,
                   .derivative = [](Scalar input, Scalar) { return 1 / input; },
                   .roundings = kExpRoundings});
}

OpExamples log_examples() { return unary_examples("log", log, Fill::kPositive); }

}  // namespace qkv
