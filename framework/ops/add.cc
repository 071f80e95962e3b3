//   y = a + b                          a, b, y, dy: one shape, after broadcasting
//   da = dy,  db = dy
//   ẏ = ȧ + ḃ

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class Add final : public Superposition {
 public:
  std::string_view name() const override { return "add"; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::binary(kernels::Binary::add, x[0], x[1], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override { return {dy, dy}; }
};

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  if (a.dtype() == DType::bf16 && b.dtype() == DType::bf16) {  // gradients that are added up
    if (a.shape() == b.shape()) return apply<Add>({a, b});
    fail(absl::StrCat("add: bf16 does not broadcast; cast it to f32 first: ",
                      describe({{"a", a}, {"b", b}})));
  }
  const Pair pair = broadcast_together("add", a, b);
  return apply<Add>({pair.a, pair.b});
}

}  // namespace qkv
