//   y = 1 / sqrt(x)                    x, y, dy, dx: one shape
//   dx = -y³ dy / 2
//
// As IEEE has it: rsqrt(0) is inf, and a negative x gives NaN.

#include "framework/graph/node.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/check.h"
#include "framework/ops/examples.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

class Rsqrt final : public Op {
 public:
  std::string_view name() const override { return "rsqrt"; }
  Saves saves() const override { return Saves::kOutput; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::unary(kernels::Unary::rsqrt, x[0], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor y = saved.output();
    return {-0.5 * (y * y * y * dy)};
  }
};

}  // namespace

Tensor rsqrt(const Tensor& x) {
  check_floating("rsqrt", {"x", x});
  return apply<Rsqrt>({x});
}

OpExamples rsqrt_examples() {
  const auto f = [](std::span<const Tensor> x) { return rsqrt(x[0]); };
  return {
      .op = "rsqrt",
      .examples = {{"positive numbers", {{Fill::kPositive, {3, 4}}}, f},
                   {"a scalar", {{Fill::kPositive, {}}}, f}},
      .errors = {{"indices", [] { rsqrt(zeros({2}, DType::i64)); },
                  "rsqrt: needs f32 or f64: x i64[2]"}},
  };
}

}  // namespace qkv
