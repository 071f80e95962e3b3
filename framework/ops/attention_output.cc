#include "framework/ops/attention_output.h"

#include "framework/ops/bf16.h"
#include "framework/ops/kit.h"

namespace qkv {
namespace {

class AttentionOutput final : public Op, public HasTangent {
 public:
  explicit AttentionOutput(DType dtype) : dtype_(dtype) {}
  std::string_view name() const override { return "attention_output"; }
  Saves saves() const override { return Saves::kInputsAndOutput; }

  Array forward(const Inputs& x) override {
    const Array y = (Tensor(x[0]) / Tensor(x[1])).array();
    return dtype_ == DType::bf16 && y.dtype() == DType::f32 ? rounded_to_bf16(y) : y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor& sums = saved.input(1);
    const Tensor d = widened(dy);
    const Tensor dot = sum(d * widened(saved.output()), -1, /*keep_axis=*/true);
    return {d / sums, neg(dot / sums)};
  }

  Tensor tangent(TensorSpan x, const Tensor& y, TensorSpan x_dot) override {
    return quotient_tangent(x, y, x_dot);
  }

 private:
  DType dtype_;
};

}  // namespace

Tensor attention_output(const Tensor& numerators, const Tensor& sums, DType dtype) {
  return apply<AttentionOutput>({numerators, sums}, dtype);
}

}  // namespace qkv
