//   y = x s,  s = sigmoid(x)           x, y, dy, dx: one shape
//   dx = s (1 + x (1 - s)) dy

#include "framework/graph/node.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/bf16.h"
#include "framework/ops/check.h"
#include "framework/ops/examples.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

Tensor silu_composed(const Tensor& x) { return x * sigmoid(x); }

Tensor derivative_composed(const Tensor& x) {
  const Tensor s = sigmoid(x);
  return s * (1.0 + x * (1.0 - s));
}

class Silu final : public Op {
 public:
  std::string_view name() const override { return "silu"; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::unary(kernels::Unary::silu, x[0], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor& x = saved.input(0);
    if (!may_fuse({x, dy})) {
      return {cast(derivative_composed(widened(x)) * widened(dy), x.dtype())};
    }
    Array dx(x.shape(), x.dtype());
    kernels::unary_backward(kernels::Unary::silu, x.array(), dy.array(), dx);
    return {Tensor(dx)};
  }
};

}  // namespace

Tensor silu(const Tensor& x) {
  check_floating_or_bf16("silu", {"x", x});
  if (composed_only()) return cast(silu_composed(widened(x)), x.dtype());
  return apply<Silu>({x});
}

OpExamples silu_examples() {
  const auto f = [](std::span<const Tensor> x) { return silu(x[0]); };
  return {
      .op = "silu",
      .examples = {{"a matrix", {{Fill::kNormal, {3, 4}}}, f},
                   {"a scalar", {{Fill::kNormal, {}}}, f}},
      .errors = {{"indices", [] { silu(zeros({2}, DType::i64)); },
                  "silu: needs f32, f64 or bf16: x i64[2]"}},
  };
}

}  // namespace qkv
