//   y = -x                             x, y, dy, dx: one shape
//   dx = -dy,  ẏ = -ẋ

#include "framework/ops/examples.h"
#include "framework/ops/ops.h"
#include "framework/ops/unary.h"

namespace qkv {

Tensor neg(const Tensor& x) {
  return unary_op("neg", kernels::Unary::neg, x,
                  {.from_dy = [](const Tensor& dy) { return -dy; },
                   .derivative = [](double, double) { return -1.0; },
                   .roundings = 0.0});
}

OpExamples neg_examples() {
  const auto f = [](std::span<const Tensor> x) { return neg(x[0]); };
  return {
      .op = "neg",
      .examples = {{"a matrix", {{Fill::kNormal, {3, 4}}}, f},
                   {"a scalar", {{Fill::kPositive, {}}}, f}},
      .errors = {{"indices", [] { neg(zeros({2}, DType::i64)); },
                  "neg: needs f32 or f64: x i64[2]"}},
  };
}

}  // namespace qkv
