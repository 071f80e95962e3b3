//   y = x rstd weight,  rstd = 1 / sqrt(mean(x²) + epsilon)      x, y: [..., C], mean over C
//                                                                weight: [C]
//   dweight = sum(dy x rstd)                                     over all but C
//   dx = rstd (dx̂ - x̂ mean(dx̂ x̂)),  x̂ = x rstd,  dx̂ = dy weight
//
// Zhang and Sennrich, "Root mean square layer normalization", 2019.

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

Tensor rstd_of(const Tensor& x, double epsilon) {  // [..., 1]
  return rsqrt(mean(x * x, -1, /*keep_axis=*/true) + epsilon);
}

std::vector<Tensor> rms_norm_backward_composed(const Tensor& x, const Tensor& weight,
                                               double epsilon, const Tensor& dy) {
  const Tensor rstd = rstd_of(x, epsilon);
  const Tensor x_hat = x * rstd;
  const Tensor dx_hat = dy * weight;
  const Tensor dx = rstd * (dx_hat - x_hat * mean(dx_hat * x_hat, -1, /*keep_axis=*/true));
  return {dx, sum_to(dy * x_hat, weight.shape())};
}

class RmsNorm final : public Op, public HasAttributes, public HasKept {
 public:
  explicit RmsNorm(double epsilon) : epsilon_(epsilon) {}
  std::string_view name() const override { return "rms_norm"; }
  std::vector<Attribute> attributes() const override { return {{"epsilon", epsilon_}}; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    rstd_ = Array(x[0].shape().without(-1), x[0].dtype());
    kernels::rms_norm(x[0], x[1], epsilon_, y, rstd_);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor &x = saved.input(0), &weight = saved.input(1);
    if (!may_fuse({x, weight, dy})) return rms_norm_backward_composed(x, weight, epsilon_, dy);
    Array dx(x.shape(), x.dtype()), dweight(weight.shape(), x.dtype());
    kernels::rms_norm_backward(x.array(), weight.array(), rstd_, dy.array(), dx, dweight);
    return {Tensor(dx), Tensor(dweight)};
  }

  std::vector<Kept> kept() override { return {{"rstd", &rstd_}}; }

 private:
  double epsilon_;
  Array rstd_;  // [...]
};

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, double epsilon) {
  check_floating("rms_norm", {"x", x});
  check_norm_weights("rms_norm", x, weight, Tensor());
  if (composed_only()) return x * rstd_of(x, epsilon) * weight;
  return apply<RmsNorm>({x, weight}, epsilon);
}

OpExamples rms_norm_examples() {
  return {
      .op = "rms_norm",
      .examples = {{"rows of 6",
                    {{Fill::kNormal, {2, 3, 6}}, {Fill::kNormal, {6}}},
                    [](std::span<const Tensor> x) { return rms_norm(x[0], x[1]); }},
                   {"large epsilon",
                    {{Fill::kNormal, {4, 5}}, {Fill::kNormal, {5}}},
                    [](std::span<const Tensor> x) { return rms_norm(x[0], x[1], 0.5); }}},
      .errors = {{"a weight of another size",
                  [] {
                    rms_norm(zeros({2, 3}), zeros({4}));
                  },
                  "rms_norm: weight must be [3], as long as the last axis: x f32[2, 3], weight "
                  "f32[4]"},
                 {"a weight of another dtype",
                  [] {
                    rms_norm(zeros({2, 3}), zeros({3}, DType::f64));
                  },
                  "rms_norm: weight must be of x's dtype and [3], as long as the last axis: x "
                  "f32[2, 3], weight f64[3]"}},
  };
}

}  // namespace qkv
