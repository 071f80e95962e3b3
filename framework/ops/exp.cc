//   y = exp(x)                         x, y, dy, dx: one shape
//   dx = y dy

#include "framework/graph/node.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/check.h"
#include "framework/ops/examples.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

class Exp final : public Op {
 public:
  std::string_view name() const override { return "exp"; }
  Saves saves() const override { return Saves::kOutput; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::unary(kernels::Unary::exp, x[0], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {saved.output() * dy};
  }
};

}  // namespace

Tensor exp(const Tensor& x) {
  check_floating("exp", {"x", x});
  return apply<Exp>({x});
}

OpExamples exp_examples() {
  const auto f = [](std::span<const Tensor> x) { return exp(x[0]); };
  return {
      .op = "exp",
      .examples = {{"a matrix", {{Fill::kNormal, {3, 4}}}, f},
                   {"a scalar", {{Fill::kPositive, {}}}, f}},
      .errors = {{"indices", [] { exp(zeros({2}, DType::i64)); },
                  "exp: needs f32 or f64: x i64[2]"}},
  };
}

}  // namespace qkv
