// With a number:
//   scale:       y = factor x          x, y, dy, dx: one shape
//                dx = factor dy,  ẏ = factor ẋ
//   add_scalar:  y = x + term
//                dx = dy,  ẏ = ẋ

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class Scale final : public Superposition, public HasAttributes {
 public:
  explicit Scale(Float128 factor) : factor_(factor) {}
  std::string_view name() const override { return "scale"; }
  std::vector<Attribute> attributes() const override {
    return {{"factor", static_cast<double>(factor_)}};
  }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::scale(x[0], factor_, y);
    return y;
  }

  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override {
    return {factor_ * dy};
  }

 private:
  Float128 factor_;
};

class AddScalar final : public Op, public HasTangent, public HasAttributes {
 public:
  explicit AddScalar(Float128 term) : term_(term) {}
  std::string_view name() const override { return "add_scalar"; }
  std::vector<Attribute> attributes() const override {
    return {{"term", static_cast<double>(term_)}};
  }
  Saves saves() const override { return Saves::kNothing; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::add_scalar(x[0], term_, y);
    return y;
  }

  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override { return {dy}; }

  Tensor tangent(TensorSpan, const Tensor&, TensorSpan x_dot) override { return x_dot[0]; }

 private:
  Float128 term_;
};

}  // namespace

Tensor operator*(Float128 factor, const Tensor& x) {
  check_floating("scale", {"x", x});
  return factor == 1 ? x : apply<Scale>({x}, factor);
}

Tensor operator+(const Tensor& x, Float128 term) {
  check_floating("add_scalar", {"x", x});
  return apply<AddScalar>({x}, term);
}

Tensor scale(const Tensor& x, double factor) { return Float128(factor) * x; }
Tensor add_scalar(const Tensor& x, double term) { return x + Float128(term); }

OpExamples scale_examples() {
  return {
      .op = "scale",
      .examples = {{"a matrix",
                    {{Fill::kNormal, {3, 4}}},
                    [](std::span<const Tensor> x) { return -2.5 * x[0]; }},
                   {"by one",
                    {{Fill::kNormal, {4}}},
                    [](std::span<const Tensor> x) { return x[0] * 1.0; }}},
      .errors = {{"indices", [] { scale(zeros({2}, DType::i64), 2.0); },
                  "scale: needs f32 or f64: x i64[2]"}},
  };
}

OpExamples add_scalar_examples() {
  return {
      .op = "add_scalar",
      .examples = {{"a matrix",
                    {{Fill::kNormal, {3, 4}}},
                    [](std::span<const Tensor> x) { return 1.5 - x[0]; }}},
      .errors = {{"indices", [] { add_scalar(zeros({2}, DType::i64), 2.0); },
                  "add_scalar: needs f32 or f64: x i64[2]"}},
  };
}

}  // namespace qkv
