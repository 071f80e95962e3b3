//   y = sqrt(x)                        x, y, dy, dx: one shape
//   dx = dy / (2 y)
//
// As IEEE has it: the derivative at 0 is infinite, and a negative x gives NaN.

#include "framework/graph/node.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/check.h"
#include "framework/ops/examples.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

class Sqrt final : public Op {
 public:
  std::string_view name() const override { return "sqrt"; }
  Saves saves() const override { return Saves::kOutput; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::unary(kernels::Unary::sqrt, x[0], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {0.5 * dy / saved.output()};
  }
};

}  // namespace

Tensor sqrt(const Tensor& x) {
  check_floating("sqrt", {"x", x});
  return apply<Sqrt>({x});
}

OpExamples sqrt_examples() {
  const auto f = [](std::span<const Tensor> x) { return sqrt(x[0]); };
  return {
      .op = "sqrt",
      .examples = {{"positive numbers", {{Fill::kPositive, {3, 4}}}, f},
                   {"a scalar", {{Fill::kPositive, {}}}, f}},
      .errors = {{"indices", [] { sqrt(zeros({2}, DType::i64)); },
                  "sqrt: needs f32 or f64: x i64[2]"}},
  };
}

}  // namespace qkv
