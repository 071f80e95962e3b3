//   y = max(a, b)                      a, b, y, dy: one shape, after broadcasting
//   da = dy where a > b, dy / 2 where a = b, else 0;  db = dy - da
//   ẏ = ȧ where a > b, ḃ where a < b, (ȧ + ḃ) / 2 where a = b

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

Tensor mask_of(kernels::Comparison f, const Tensor& a, const Tensor& b) {
  Array mask(a.shape(), DType::boolean);
  kernels::compare(f, a.array(), b.array(), mask);
  return Tensor(mask);
}

// The part of dy that goes to a: chosen and not multiplied, so that no NaN comes from b's part.
Tensor share_of(const Tensor& a, const Tensor& b, const Tensor& dy) {
  const Tensor half = masked_fill(0.5 * dy, mask_of(kernels::Comparison::less, a, b), 0.0);
  return where(mask_of(kernels::Comparison::greater, a, b), dy, half);
}

class Maximum final : public Op, public HasTangent {
 public:
  std::string_view name() const override { return "maximum"; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::binary(kernels::Binary::maximum, x[0], x[1], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor &a = saved.input(0), &b = saved.input(1);
    return {saved.needs(0) ? share_of(a, b, dy) : Tensor(),
            saved.needs(1) ? share_of(b, a, dy) : Tensor()};
  }

  Tensor tangent(TensorSpan x, const Tensor& y, TensorSpan x_dot) override {
    const Tensor still = zeros(y.shape(), y.dtype());
    const Tensor &a = x[0], &b = x[1], &a_dot = x_dot[0].defined() ? x_dot[0] : still,
                 &b_dot = x_dot[1].defined() ? x_dot[1] : still;
    return where(mask_of(kernels::Comparison::greater, a, b), a_dot,
                 where(mask_of(kernels::Comparison::less, a, b), b_dot, (a_dot + b_dot) / 2));
  }
};

}  // namespace

Tensor maximum(const Tensor& a, const Tensor& b) {
  const Pair pair = broadcast_together("maximum", a, b);
  return apply<Maximum>({pair.a, pair.b});
}

OpExamples maximum_examples() {
  // Multiples of 0.1 against those between them: no ties.
  const auto f = [](std::span<const Tensor> x) { return maximum(x[0], x[1] + 0.05); };
  return {
      .op = "maximum",
      .examples = {{"against a constant",
                    {{Fill::kApart, {3, 4}}},
                    [](std::span<const Tensor> x) {
                      return maximum(x[0], zeros({3, 4}, x[0].dtype()));
                    }},
                   {"of two", {{Fill::kApart, {3, 4}}, {Fill::kApart, {3, 4}}}, f},
                   {"broadcast", {{Fill::kApart, {2, 1, 4}}, {Fill::kApart, {3, 1}}}, f},
                   {"a tensor with itself: ties",
                    {{Fill::kNormal, {3, 4}}},
                    [](std::span<const Tensor> x) { return maximum(x[0], x[0]); }}},
      .errors = binary_errors("maximum", maximum),
  };
}

}  // namespace qkv
