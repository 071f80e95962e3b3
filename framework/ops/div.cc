//   y = a / b                          a, b, y, dy: one shape, after broadcasting
//   da = dy / b,  db = -dy / b * y
//   ẏ = (ȧ - y ḃ) / b
//
// As IEEE has it: a division by 0 gives inf or NaN.

#include "framework/graph/node.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/check.h"
#include "framework/ops/examples.h"
#include "framework/ops/ops.h"
#include "framework/ops/rules.h"

namespace qkv {
namespace {

class Div final : public Op {
 public:
  std::string_view name() const override { return "div"; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::binary(kernels::Binary::div, x[0], x[1], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor &a = saved.input(0), &b = saved.input(1);
    const Tensor da = dy / b;
    return {da, saved.needs(1) ? -(da * (a / b)) : Tensor()};
  }

  Tensor tangent(TensorSpan x, const Tensor& y, TensorSpan x_dot) override {
    return quotient_tangent(x, y, x_dot);
  }
  Rounding rounding(const ExactCall& call) override { return rounded(call); }
};

}  // namespace

Tensor div(const Tensor& a, const Tensor& b) {
  const Pair pair = broadcast_together("div", a, b);
  return apply<Div>({pair.a, pair.b});
}

OpExamples div_examples() {
  const auto f = [](std::span<const Tensor> x) { return x[0] / x[1]; };
  return {
      .op = "div",
      .examples = {{"one shape", {{Fill::kNormal, {3, 4}}, {Fill::kPositive, {3, 4}}}, f},
                   {"broadcast", {{Fill::kNormal, {2, 1, 4}}, {Fill::kPositive, {3, 1}}}, f},
                   {"a scalar", {{Fill::kNormal, {}}, {Fill::kPositive, {2, 3}}}, f}},
      .errors = {{"shapes that clash",
                  [] {
                    div(zeros({2, 3}), zeros({4}));
                  },
                  "div: shapes do not broadcast: a [2, 3], b [4]: sizes 3 and 4 at axis -1"},
                 {"dtypes that differ", [] { div(zeros({2}), zeros({2}, DType::f64)); },
                  "div: dtypes differ: a f32[2], b f64[2]; cast one of them"},
                 {"indices", [] { div(zeros({2}, DType::i64), zeros({2}, DType::i64)); },
                  "div: needs f32 or f64: a i64[2], b i64[2]"}},
  };
}

}  // namespace qkv
