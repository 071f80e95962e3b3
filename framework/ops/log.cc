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
                   .derivative = [](double input, double) { return 1.0 / input; },
                   .roundings = kExpRoundings});
}

OpExamples log_examples() {
  const auto f = [](std::span<const Tensor> x) { return log(x[0]); };
  return {
      .op = "log",
      .examples = {{"positive numbers", {{Fill::kPositive, {3, 4}}}, f},
                   {"a scalar", {{Fill::kPositive, {}}}, f}},
      .errors = {{"indices", [] { log(zeros({2}, DType::i64)); },
                  "log: needs f32 or f64: x i64[2]"}},
  };
}

}  // namespace qkv
