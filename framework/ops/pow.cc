//   y = a ^ b                          a, b, y, dy: one shape, after broadcasting
//   da = b a ^ (b - 1) dy
//   db = y log(a) dy                   NaN below a = 0
//   ẏ = b a ^ (b - 1) ȧ + y log(a) ḃ
//
// A number to the power 0 is 1, whatever it is, and 0 to a positive power is 0: there a and b move
// nothing, though the formulas have 0 times inf. At 0 ^ 0, too, the derivatives are 0.
//
// With a number n for b, dx = n x ^ (n - 1) dy and ẏ = n x ^ (n - 1) ẋ, which are defined for
// negative x too where n is whole.

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

// a ^ (b - 1) and log(a) as factors of b and of y, which may be 0.
Tensor factor_of_exponent(const Tensor& a, const Tensor& b) {
  return filled(pow(a, b - 1.0), a, b, [](auto, auto exponent) { return exponent == 0; });
}
Tensor factor_of_power(const Tensor& a, const Tensor& b) {
  return filled(log(a), a, b, [](auto base, auto exponent) { return base == 0 && exponent >= 0; });
}

class Pow final : public Op, public HasTangent {
 public:
  std::string_view name() const override { return "pow"; }
  Saves saves() const override { return Saves::kInputsAndOutput; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::binary(kernels::Binary::pow, x[0], x[1], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor &a = saved.input(0), &b = saved.input(1);
    return {saved.needs(0) ? dy * b * factor_of_exponent(a, b) : Tensor(),
            saved.needs(1) ? dy * saved.output() * factor_of_power(a, b) : Tensor()};
  }

  Tensor tangent(TensorSpan x, const Tensor& y, TensorSpan x_dot) override {
    const Tensor &a = x[0], &b = x[1], &a_dot = x_dot[0], &b_dot = x_dot[1];
    Tensor y_dot = zeros(y.shape(), y.dtype());
    if (a_dot.defined()) y_dot = y_dot + b * factor_of_exponent(a, b) * a_dot;
    if (b_dot.defined()) y_dot = y_dot + y * factor_of_power(a, b) * b_dot;
    return y_dot;
  }
};

class PowScalar final : public Op, public HasTangent, public HasAttributes {
 public:
  explicit PowScalar(Float128 exponent) : exponent_(exponent) {}
  std::string_view name() const override { return "pow"; }
  std::vector<Attribute> attributes() const override {
    return {{"exponent", static_cast<double>(exponent_)}};
  }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::pow_scalar(x[0], exponent_, y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor& x = saved.input(0);
    if (exponent_ == 0) return {zeros(x.shape(), x.dtype())};
    return {exponent_ * (pow(x, exponent_ - 1) * dy)};
  }

  Tensor tangent(TensorSpan x, const Tensor& y, TensorSpan x_dot) override {
    return chain_rule(x, y, x_dot, [n = exponent_](Float128 from, Float128) {
      return n == 0 ? n : n * float128::pow(from, n - 1);
    });
  }

 private:
  Float128 exponent_;
};

}  // namespace

Tensor pow(const Tensor& a, const Tensor& b) {
  const Pair pair = broadcast_together("pow", a, b);
  return apply<Pow>({pair.a, pair.b});
}

Tensor pow(const Tensor& x, Float128 exponent) {
  check_floating("pow", {"x", x});
  if (exponent == 1) return x;
  return apply<PowScalar>({x}, exponent);
}

Tensor pow(const Tensor& x, double exponent) { return pow(x, Float128(exponent)); }

OpExamples pow_examples() {
  const auto f = [](std::span<const Tensor> x) { return pow(x[0], x[1]); };
  const auto to = [](double exponent) {
    return [exponent](std::span<const Tensor> x) { return pow(x[0], exponent); };
  };
  return {
      .op = "pow",
      .examples = {{"one shape", {{Fill::kPositive, {3, 4}}, {Fill::kNormal, {3, 4}}}, f},
                   {"broadcast", {{Fill::kPositive, {2, 1, 4}}, {Fill::kNormal, {3, 1}}}, f},
                   {"a square", {{Fill::kNormal, {5}}}, to(2.0)},
                   {"a cube", {{Fill::kNormal, {5}}}, to(3.0)},
                   {"a number to itself",
                    {{Fill::kPositive, {5}}},
                    [](std::span<const Tensor> x) { return pow(x[0], x[0]); }},
                   {"a root", {{Fill::kPositive, {5}}}, to(0.5)},
                   {"an inverse", {{Fill::kPositive, {5}}}, to(-1.0)}},
      .errors = {{"shapes that clash",
                  [] {
                    pow(zeros({2, 3}), zeros({4}));
                  },
                  "pow: shapes do not broadcast: a [2, 3], b [4]: sizes 3 and 4 at axis -1"},
                 {"dtypes that differ", [] { pow(zeros({2}), zeros({2}, DType::f64)); },
                  "pow: dtypes differ: a f32[2], b f64[2]; cast one of them"},
                 {"a power of indices", [] { pow(zeros({2}, DType::i64), 2.0); },
                  "pow: needs f32 or f64: x i64[2]"}},
  };
}

}  // namespace qkv
