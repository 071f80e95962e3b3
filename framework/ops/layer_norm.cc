//   x̂ = (x - mean(x)) rstd,  rstd = 1 / sqrt(variance(x) + epsilon)      x, x̂, y: [..., C], over C
//   y = x̂ weight + bias                                                  weight, bias: [C]
//
//   dweight = sum(dy x̂),  dbias = sum(dy)                                 over all but C
//   dx = rstd (dx̂ - mean(dx̂) - x̂ mean(dx̂ x̂)),  dx̂ = dy weight           means over C
//
// Ba, Kiros and Hinton, "Layer normalization", 2016.

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

struct Normalized {
  Tensor x_hat;  // [..., C]
  Tensor rstd;   // [..., 1]
};

Normalized normalize(const Tensor& x, double epsilon) {
  const Tensor centered = x - mean(x, -1, /*keep_axis=*/true);
  const Tensor rstd = rsqrt(variance(x, -1, 0, /*keep_axis=*/true) + epsilon);
  return {centered * rstd, rstd};
}

Tensor layer_norm_composed(const Tensor& x, const Tensor& weight, const Tensor& bias,
                           double epsilon) {
  const Tensor y = normalize(x, epsilon).x_hat * weight;
  return bias.defined() ? y + bias : y;
}

std::vector<Tensor> layer_norm_backward_composed(const Tensor& x, const Tensor& weight,
                                                 double epsilon, const Tensor& dy) {
  const auto [x_hat, rstd] = normalize(x, epsilon);
  const Tensor dx_hat = dy * weight;
  const Tensor dx =
      rstd * (dx_hat - mean(dx_hat, -1, true) - x_hat * mean(dx_hat * x_hat, -1, true));
  return {dx, sum_to(dy * x_hat, weight.shape()), sum_to(dy, weight.shape())};
}

class LayerNorm final : public Op, public HasAttributes, public HasKept {
 public:
  explicit LayerNorm(double epsilon) : epsilon_(epsilon) {}
  std::string_view name() const override { return "layer_norm"; }
  std::vector<Attribute> attributes() const override { return {{"epsilon", epsilon_}}; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    mean_ = Array(x[0].shape().without(-1), x[0].dtype());
    rstd_ = Array(mean_.shape(), x[0].dtype());
    const Array bias = x.size() > 2 ? x[2] : Array::full(x[1].shape(), x[1].dtype(), 0.0);
    kernels::layer_norm(x[0], x[1], bias, epsilon_, y, mean_, rstd_);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor &x = saved.input(0), &weight = saved.input(1);
    std::vector<Tensor> gradients;
    if (may_fuse({x, weight, dy})) {
      Array dx(x.shape(), x.dtype()), dweight(weight.shape(), x.dtype()),
          dbias(weight.shape(), x.dtype());
      kernels::layer_norm_backward(x.array(), weight.array(), mean_, rstd_, dy.array(), dx, dweight,
                                   dbias);
      gradients = {Tensor(dx), Tensor(dweight), Tensor(dbias)};
    } else {
      gradients = layer_norm_backward_composed(x, weight, epsilon_, dy);
    }
    gradients.resize(saved.size());
    return gradients;
  }

  std::vector<Kept> kept() override { return {{"mean", &mean_}, {"rstd", &rstd_}}; }

 private:
  double epsilon_;
  Array mean_, rstd_;  // [...]
};

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon) {
  check_floating("layer_norm", {"x", x});
  check_norm_weights("layer_norm", x, weight, bias);
  if (composed_only()) return layer_norm_composed(x, weight, bias, epsilon);
  std::vector<Tensor> inputs = {x, weight};
  if (bias.defined()) inputs.push_back(bias);
  return apply<LayerNorm>(std::move(inputs), epsilon);
}

OpExamples layer_norm_examples() {
  return {
      .op = "layer_norm",
      .examples = {{"rows of 6",
                    {{Fill::kNormal, {2, 3, 6}}, {Fill::kNormal, {6}}, {Fill::kNormal, {6}}},
                    [](std::span<const Tensor> x) { return layer_norm(x[0], x[1], x[2]); }},
                   {"no bias, large epsilon",
                    {{Fill::kNormal, {4, 5}}, {Fill::kNormal, {5}}},
                    [](std::span<const Tensor> x) {
                      return layer_norm(x[0], x[1], Tensor(), 0.5);
                    }}},
      .errors = {{"a weight of another size",
                  [] {
                    layer_norm(zeros({2, 3}), zeros({4}), zeros({4}));
                  },
                  "layer_norm: weight must be [3], as long as the last axis: x f32[2, 3], weight "
                  "f32[4], bias f32[4]"}},
  };
}

}  // namespace qkv
