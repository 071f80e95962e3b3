//   y = a b                            a, b, y, dy: one shape, after broadcasting
//   da = dy b,  db = dy a
//   ẏ = ȧ b + a ḃ

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class Mul final : public Op, public HasTangent {
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
};

}  // namespace

Tensor mul(const Tensor& a, const Tensor& b) {
  const Pair pair = broadcast_together("mul", a, b);
  return apply<Mul>({pair.a, pair.b});
}

OpExamples mul_examples() {
  OpExamples all = binary_examples("mul", mul);
  all.examples.push_back({"a tensor with itself", {{Fill::kNormal, {5}}}, [](ExampleTensors x) {
                            return x[0] * x[0];
                          }});
  return all;
}

}  // namespace qkv
