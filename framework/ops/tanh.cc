//   y = tanh(x)                        x, y, dy, dx: one shape
//   dx = (1 - y²) dy

#include "framework/graph/node.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/check.h"
#include "framework/ops/examples.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

class Tanh final : public Op {
 public:
  std::string_view name() const override { return "tanh"; }
  Saves saves() const override { return Saves::kOutput; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::unary(kernels::Unary::tanh, x[0], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor y = saved.output();
    return {(1.0 - y * y) * dy};
  }
};

}  // namespace

Tensor tanh(const Tensor& x) {
  check_floating("tanh", {"x", x});
  return apply<Tanh>({x});
}

OpExamples tanh_examples() {
  const auto f = [](std::span<const Tensor> x) { return tanh(x[0]); };
  return {
      .op = "tanh",
      .examples = {{"a matrix", {{Fill::kNormal, {3, 4}}}, f},
                   {"a scalar", {{Fill::kPositive, {}}}, f}},
      .errors = {{"indices", [] { tanh(zeros({2}, DType::i64)); },
                  "tanh: needs f32 or f64: x i64[2]"}},
  };
}

}  // namespace qkv
