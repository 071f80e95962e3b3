//   y = 1 / (1 + exp(-x))              x, y, dy, dx: one shape
//   dx = y (1 - y) dy

#include "framework/graph/node.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/check.h"
#include "framework/ops/examples.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

class Sigmoid final : public Op {
 public:
  std::string_view name() const override { return "sigmoid"; }
  Saves saves() const override { return Saves::kOutput; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::unary(kernels::Unary::sigmoid, x[0], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor y = saved.output();
    return {y * (1.0 - y) * dy};
  }
};

}  // namespace

Tensor sigmoid(const Tensor& x) {
  check_floating("sigmoid", {"x", x});
  return apply<Sigmoid>({x});
}

OpExamples sigmoid_examples() {
  const auto f = [](std::span<const Tensor> x) { return sigmoid(x[0]); };
  return {
      .op = "sigmoid",
      .examples = {{"a matrix", {{Fill::kNormal, {3, 4}}}, f},
                   {"a scalar", {{Fill::kPositive, {}}}, f}},
      .errors = {{"indices", [] { sigmoid(zeros({2}, DType::i64)); },
                  "sigmoid: needs f32 or f64: x i64[2]"}},
  };
}

}  // namespace qkv
