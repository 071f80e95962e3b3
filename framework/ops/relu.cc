//   y = max(x, 0)                      x, y, dy, dx: one shape
//   dx = dy where x > 0, else 0;  ẏ = ẋ where x > 0, else 0
//
// Backward asks y and not x, because x > 0 exactly where y > 0. The derivative at 0 is 0.

#include "framework/ops/support/bf16.h"
#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class Relu final : public Op, public HasTangent {
 public:
  std::string_view name() const override { return "relu"; }
  Saves saves() const override { return Saves::kOutput; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::unary(kernels::Unary::relu, x[0], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor y = saved.output();
    if (may_fuse({dy})) {  // dx is linear in dy and has no other gradient
      Array dx(y.shape(), y.dtype());
      kernels::unary_backward(kernels::Unary::relu, y.array(), dy.array(), dx);
      return {Tensor(dx)};
    }
    const Tensor dx = masked_fill(widened(dy), is_not_positive(widened(y).array()), 0.0);
    return {cast(dx, y.dtype())};
  }

  Tensor tangent(TensorSpan x, const Tensor& y, TensorSpan x_dot) override {
    return chain_rule(x, y, x_dot,
                      [](Float128 from, Float128) -> Float128 { return from > 0 ? 1 : 0; });
  }

 private:
  static Tensor is_not_positive(const Array& y) {
    Array mask(y.shape(), DType::boolean);
    kernels::compare(kernels::Comparison::less_equal, y, Array::full(y.shape(), y.dtype(), 0.0),
                     mask);
    return Tensor(mask);
  }
};

}  // namespace

Tensor relu(const Tensor& x) {
  check_floating_or_bf16("relu", {"x", x});
  return apply<Relu>({x});
}

OpExamples relu_examples() {
  const auto f = [](std::span<const Tensor> x) { return relu(x[0]); };
  return {
      .op = "relu",
      .examples = {{"away from the kink", {{Fill::kApart, {3, 4}}}, f},
                   {"a scalar", {{Fill::kApart, {}}}, f},
                   {"curved around",
                    {{Fill::kApart, {6}}},
                    [](std::span<const Tensor> x) { return relu(x[0] * x[0] * x[0]); }}},
      .errors = {{"indices", [] { relu(zeros({2}, DType::i64)); },
                  "relu: needs f32, f64 or bf16: x i64[2]"}},
  };
}

}  // namespace qkv
