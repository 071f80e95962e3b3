//   y = a b                            a, b, y, dy: one shape, after broadcasting
//   da = dy b,  db = dy a
//   ẏ = ȧ b + a ḃ

#include "framework/graph/node.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/check.h"
#include "framework/ops/examples.h"
#include "framework/ops/ops.h"
#include "framework/ops/rules.h"

namespace qkv {
namespace {

class Mul final : public Op {
 public:
  std::string_view name() const override { return "mul"; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::binary(kernels::Binary::mul, x[0], x[1], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {saved.needs(0) ? dy * saved.input(1) : Tensor(),
            saved.needs(1) ? dy * saved.input(0) : Tensor()};
  }

  Tensor tangent(TensorSpan x, const Tensor&, TensorSpan x_dot) override {
    return product_tangent(*this, x, x_dot);
  }
  Rounding rounding(const ExactCall& call) override { return rounded(call); }
};

}  // namespace

Tensor mul(const Tensor& a, const Tensor& b) {
  const Pair pair = broadcast_together("mul", a, b);
  return apply<Mul>({pair.a, pair.b});
}

OpExamples mul_examples() {
  const auto f = [](std::span<const Tensor> x) { return x[0] * x[1]; };
  return {
      .op = "mul",
      .examples = {{"one shape", {{Fill::kNormal, {3, 4}}, {Fill::kNormal, {3, 4}}}, f},
                   {"broadcast", {{Fill::kNormal, {2, 1, 4}}, {Fill::kNormal, {3, 1}}}, f},
                   {"a scalar", {{Fill::kNormal, {}}, {Fill::kNormal, {2, 3}}}, f},
                   {"a tensor with itself",
                    {{Fill::kNormal, {5}}},
                    [](std::span<const Tensor> x) { return x[0] * x[0]; }}},
      .errors = {{"shapes that clash",
                  [] {
                    mul(zeros({2, 3}), zeros({4}));
                  },
                  "mul: shapes do not broadcast: a [2, 3], b [4]: sizes 3 and 4 at axis -1"},
                 {"dtypes that differ", [] { mul(zeros({2}), zeros({2}, DType::f64)); },
                  "mul: dtypes differ: a f32[2], b f64[2]; cast one of them"},
                 {"indices", [] { mul(zeros({2}, DType::i64), zeros({2}, DType::i64)); },
                  "mul: needs f32 or f64: a i64[2], b i64[2]"}},
  };
}

}  // namespace qkv
