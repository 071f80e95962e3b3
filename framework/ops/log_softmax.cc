//   y = log(softmax(x)) = x - log(sum(exp(x)))      x, y, dy, dx: [..., C], sums over C
//   dx = dy - exp(y) sum(dy)

#include "framework/kernels/softmax.h"
#include "framework/ops/kit.h"

namespace qkv {
namespace {

class LogSoftmax final : public Op {
 public:
  std::string_view name() const override { return "log_softmax"; }
  Saves saves() const override { return Saves::kOutput; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::log_softmax(x[0], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor y = saved.output();
    if (!may_fuse({y, dy})) return {dy - exp(y) * sum(dy, -1, /*keep_axis=*/true)};
    Array dx(y.shape(), y.dtype());
    kernels::log_softmax_backward(y.array(), dy.array(), dx);
    return {Tensor(dx)};
  }
};

// For every m the same: the largest keeps exp from overflowing. The two bounds, which no other row
// comes near, are for rows of -inf, which stay what they are.
Tensor log_softmax_composed(const Tensor& x) {
  const auto at_least = [&](double least, const Tensor& t) {
    return maximum(t, full({}, least, x.dtype()));
  };
  const Tensor m = at_least(-1e30, max(x.detached(), -1, /*keep_axis=*/true));
  const Tensor t = x - m;
  return t - log(at_least(1e-30, sum(exp(t), -1, /*keep_axis=*/true)));
}

}  // namespace

Tensor log_softmax(const Tensor& x) {
  check_floating("log_softmax", {"x", x});
  check_axis("log_softmax", {"x", x}, -1);
  if (composed_only() && x.dim(-1) > 0) return log_softmax_composed(x);
  return apply<LogSoftmax>({x});
}

OpExamples log_softmax_examples() {
  const auto f = [](std::span<const Tensor> x) { return log_softmax(x[0]); };
  return {
      .op = "log_softmax",
      .examples = {{"rows of 5", {{Fill::kNormal, {2, 3, 5}}}, f},
                   {"one class", {{Fill::kNormal, {4, 1}}}, f},
                   {"one row", {{Fill::kNormal, {6}}}, f}},
      .errors = {{"a scalar", [] { log_softmax(zeros({})); },
                  "log_softmax: there is no axis -1 in x f32[]"}},
  };
}

}  // namespace qkv
