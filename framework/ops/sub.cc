//   y = a - b                          a, b, y, dy: one shape, after broadcasting
//   da = dy,  db = -dy
//   ẏ = ȧ - ḃ

#include "framework/graph/node.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/check.h"
#include "framework/ops/examples.h"
#include "framework/ops/ops.h"
#include "framework/ops/rules.h"

namespace qkv {
namespace {

class Sub final : public Op {
 public:
  std::string_view name() const override { return "sub"; }
  Saves saves() const override { return Saves::kNothing; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::binary(kernels::Binary::sub, x[0], x[1], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {dy, saved.needs(1) ? -dy : Tensor()};
  }

  Tensor tangent(TensorSpan x, const Tensor&, TensorSpan x_dot) override {
    return linear_tangent(*this, x, x_dot);
  }
  Rounding rounding(const ExactCall& call) override { return rounded(call); }
};

}  // namespace

Tensor sub(const Tensor& a, const Tensor& b) {
  const Pair pair = broadcast_together("sub", a, b);
  return apply<Sub>({pair.a, pair.b});
}

OpExamples sub_examples() {
  const auto f = [](std::span<const Tensor> x) { return x[0] - x[1]; };
  return {
      .op = "sub",
      .examples = {{"one shape", {{Fill::kNormal, {3, 4}}, {Fill::kNormal, {3, 4}}}, f},
                   {"broadcast", {{Fill::kNormal, {2, 1, 4}}, {Fill::kNormal, {3, 1}}}, f},
                   {"a scalar", {{Fill::kNormal, {}}, {Fill::kNormal, {2, 3}}}, f}},
      .errors = {{"shapes that clash",
                  [] {
                    sub(zeros({2, 3}), zeros({4}));
                  },
                  "sub: shapes do not broadcast: a [2, 3], b [4]: sizes 3 and 4 at axis -1"},
                 {"dtypes that differ", [] { sub(zeros({2}), zeros({2}, DType::f64)); },
                  "sub: dtypes differ: a f32[2], b f64[2]; cast one of them"},
                 {"indices", [] { sub(zeros({2}, DType::i64), zeros({2}, DType::i64)); },
                  "sub: needs f32 or f64: a i64[2], b i64[2]"}},
  };
}

}  // namespace qkv
