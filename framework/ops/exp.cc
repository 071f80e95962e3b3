//   y = exp(x)                         x, y, dy, dx: one shape
//   dx = y dy,  ẏ = y ẋ

#include "framework/ops/examples.h"
#include "framework/ops/ops.h"
#include "framework/ops/rules.h"
#include "framework/ops/unary.h"

namespace qkv {

Tensor exp(const Tensor& x) {
  return unary_op("exp", kernels::Unary::exp, x,
                  {.from_output = [](const Tensor& y, const Tensor& dy) { return y * dy; },
                   .derivative = [](double, double y) { return y; },
                   .roundings = kExpRoundings});
}

OpExamples exp_examples() {
  const auto f = [](std::span<const Tensor> x) { return exp(x[0]); };
  return {
      .op = "exp",
      .examples = {{"a matrix", {{Fill::kNormal, {3, 4}}}, f},
                   {"a scalar", {{Fill::kPositive, {}}}, f}},
      .errors = {{"indices", [] { exp(zeros({2}, DType::i64)); },
                  "exp: needs f32 or f64: x i64[2]"}},
  };
}

}  // namespace qkv
