//   y = log(x)                         x, y, dy, dx: one shape
//   dx = dy / x
//
// As IEEE has it: log(0) is -inf with an infinite derivative, and a negative x gives NaN.

#include "framework/graph/node.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/check.h"
#include "framework/ops/examples.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

class Log final : public Op {
 public:
  std::string_view name() const override { return "log"; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::unary(kernels::Unary::log, x[0], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {dy / saved.input(0)};
  }
};

}  // namespace

Tensor log(const Tensor& x) {
  check_floating("log", {"x", x});
  return apply<Log>({x});
}

OpExamples log_examples() {
  const auto f = [](std::span<const Tensor> x) { return log(x[0]); };
  return {
      .op = "log",
      .examples = {{"positive numbers", {{Fill::kPositive, {3, 4}}}, f},
                   {"a scalar", {{Fill::kPositive, {}}}, f}},
      .errors = {{"indices", [] { log(zeros({2}, DType::i64)); },
                  "log: needs f32 or f64: x i64[2]"}},
  };
}

}  // namespace qkv
