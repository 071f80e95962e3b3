//   y = -x                             x, y, dy, dx: one shape
//   dx = -dy

#include "framework/graph/node.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/check.h"
#include "framework/ops/examples.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

class Neg final : public Op {
 public:
  std::string_view name() const override { return "neg"; }
  Saves saves() const override { return Saves::kNothing; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::unary(kernels::Unary::neg, x[0], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override { return {-dy}; }
};

}  // namespace

Tensor neg(const Tensor& x) {
  check_floating("neg", {"x", x});
  return apply<Neg>({x});
}

OpExamples neg_examples() {
  const auto f = [](std::span<const Tensor> x) { return neg(x[0]); };
  return {
      .op = "neg",
      .examples = {{"a matrix", {{Fill::kNormal, {3, 4}}}, f},
                   {"a scalar", {{Fill::kPositive, {}}}, f}},
      .errors = {{"indices", [] { neg(zeros({2}, DType::i64)); },
                  "neg: needs f32 or f64: x i64[2]"}},
  };
}

}  // namespace qkv
