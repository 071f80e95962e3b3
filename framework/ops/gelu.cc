//   y = x Φ(x)                                                  x, y, dy, dx: one shape
//   dx = (Φ(x) + x φ(x)) dy
// with the normal distribution Φ(x) = (1 + erf(x / sqrt(2))) / 2 and its density
// φ(x) = exp(-x² / 2) / sqrt(2 pi). Hendrycks and Gimpel, "Gaussian error linear units", 2016.
//
// The tanh form, which GPT-2 uses:
//   y = x (1 + t) / 2,  t = tanh(u),  u = sqrt(2 / pi) (x + 0.044715 x³)
//   dx = ((1 + t) / 2 + x (1 - t²) u' / 2) dy,  u' = sqrt(2 / pi) (1 + 3 * 0.044715 x²)

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

constexpr Float128 kHalfOfSqrt2 = kSqrt2<Float128> / 2;
constexpr Float128 kSqrt2OverPi = kSqrt2<Float128> * kInverseSqrtPi<Float128>;
constexpr Float128 kCubic = 0.044715;

Tensor normal_cdf(const Tensor& x) { return 0.5 * (1.0 + erf(kHalfOfSqrt2 * x)); }
Tensor normal_density(const Tensor& x) {
  return kHalfOfSqrt2 * kInverseSqrtPi<Float128> * exp(-0.5 * (x * x));
}
Tensor tanh_of_cubic(const Tensor& x) { return tanh(kSqrt2OverPi * (x + kCubic * (x * x * x))); }

Tensor erf_form(const Tensor& x) { return x * normal_cdf(x); }
Tensor erf_derivative(const Tensor& x) { return normal_cdf(x) + x * normal_density(x); }

Tensor tanh_form(const Tensor& x) { return 0.5 * x * (1.0 + tanh_of_cubic(x)); }
Tensor tanh_derivative(const Tensor& x) {
  const Tensor t = tanh_of_cubic(x);
  const Tensor du = kSqrt2OverPi * (1.0 + 3.0 * kCubic * (x * x));
  return 0.5 * (1.0 + t + x * (1.0 - t * t) * du);
}

}  // namespace

Tensor gelu(const Tensor& x, GeluForm form) {
  if (form == GeluForm::kErf) {
    return fused_unary_op("gelu", kernels::Unary::gelu_erf, x,
                          {.value = erf_form, .derivative = erf_derivative});
  }
  return fused_unary_op("gelu", kernels::Unary::gelu_tanh, x,
                        {.value = tanh_form, .derivative = tanh_derivative});
}

OpExamples gelu_examples() {
  const auto f = [](GeluForm form) {
    return [form](std::span<const Tensor> x) { return gelu(x[0], form); };
  };
  return {
      .op = "gelu",
      .examples = {{"erf form", {{Fill::kNormal, {3, 4}}}, f(GeluForm::kErf)},
                   {"tanh form", {{Fill::kNormal, {3, 4}}}, f(GeluForm::kTanh)}},
      .errors = {{"indices", [] { gelu(zeros({2}, DType::i64)); },
                  "gelu: needs f32, f64 or bf16: x i64[2]"}},
  };
}

}  // namespace qkv
