//   y = a - b                          a, b, y, dy: one shape, after broadcasting
//   da = dy,  db = -dy
//   ẏ = ȧ - ḃ

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class Sub final : public Superposition {
 public:
  std::string_view name() const override { return "sub"; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::binary(kernels::Binary::sub, x[0], x[1], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {dy, saved.needs(1) ? -dy : Tensor()};
  }
};

}  // namespace

Tensor sub(const Tensor& a, const Tensor& b) {
  const Pair pair = broadcast_together("sub", a, b);
  return apply<Sub>({pair.a, pair.b});
}

OpExamples sub_examples() { return binary_examples("sub", sub); }

}  // namespace qkv
