#include "framework/ops/attention_output.h"

#include "framework/graph/node.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/bf16.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

Tensor is_zero(const Tensor& x) {
  Array mask(x.shape(), DType::boolean);
  kernels::compare(kernels::Comparison::equal, x.array(), Array::full(x.shape(), x.dtype(), 0.0),
                   mask);
  return Tensor(mask);
}

Tensor quotient(const Tensor& x, const Tensor& sums) {  // 0 where the sum is 0
  const Tensor none = is_zero(sums);
  return masked_fill(x / masked_fill(sums, none, 1.0), none, 0.0);
}

class AttentionOutput final : public Op {
 public:
  std::string_view name() const override { return "attention_output"; }
  Saves saves() const override { return Saves::kInputsAndOutput; }

  Array forward(const Inputs& x) override {
    const Array y = quotient(Tensor(x[0]), Tensor(x[1])).array();
    return y.dtype() == DType::f32 ? rounded_to_bf16(y) : y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor& sums = saved.input(1);
    const Tensor d = widened(dy);
    const Tensor dot = sum(d * widened(saved.output()), -1, /*keep_axis=*/true);
    return {quotient(d, sums), neg(quotient(dot, sums))};
  }
};

}  // namespace

Tensor attention_output(const Tensor& numerators, const Tensor& sums) {
  return apply<AttentionOutput>({numerators, sums});
}

}  // namespace qkv
