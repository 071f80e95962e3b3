//   y = erf(x)                         x, y, dy, dx: one shape
//   dx = 2 / sqrt(pi) exp(-x²) dy

#include <numbers>

#include "framework/graph/node.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/check.h"
#include "framework/ops/examples.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

class Erf final : public Op {
 public:
  std::string_view name() const override { return "erf"; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::unary(kernels::Unary::erf, x[0], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor& x = saved.input(0);
    return {2.0 * std::numbers::inv_sqrtpi * (exp(-(x * x)) * dy)};
  }
};

}  // namespace

Tensor erf(const Tensor& x) {
  check_floating("erf", {"x", x});
  return apply<Erf>({x});
}

OpExamples erf_examples() {
  const auto f = [](std::span<const Tensor> x) { return erf(x[0]); };
  return {
      .op = "erf",
      .examples = {{"a matrix", {{Fill::kNormal, {3, 4}}}, f},
                   {"a scalar", {{Fill::kPositive, {}}}, f}},
      .errors = {{"indices", [] { erf(zeros({2}, DType::i64)); },
                  "erf: needs f32 or f64: x i64[2]"}},
  };
}

}  // namespace qkv
