#include "framework/ops/rules.h"

#include "framework/ops/bf16.h"
#include "framework/ops/kit.h"

namespace qkv {
namespace {

Array computed(kernels::Unary kernel, const Array& x) {
  Array y(x.shape(), x.dtype());
  kernels::unary(kernel, x, y);
  return y;
}

class UnaryOp final : public Op, public HasTangent {
 public:
  UnaryOp(std::string_view name, kernels::Unary kernel, const UnaryRules& rules)
      : name_(name), kernel_(kernel), rules_(rules) {}
  std::string_view name() const override { return name_; }

  Saves saves() const override {
    if (rules_.from_input) return Saves::kInputs;
    return rules_.from_output ? Saves::kOutput : Saves::kNothing;
  }

  Array forward(const Inputs& x) override { return computed(kernel_, x[0]); }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    if (rules_.from_input) return {rules_.from_input(saved.input(0), dy)};
    if (rules_.from_output) return {rules_.from_output(saved.output(), dy)};
    return {rules_.from_dy(dy)};
  }

  Tensor tangent(TensorSpan x, const Tensor& y, TensorSpan x_dot) override {
    return chain_rule(x, y, x_dot, rules_.derivative);
  }

 private:
  std::string_view name_;
  kernels::Unary kernel_;
  UnaryRules rules_;
};

class FusedUnaryOp final : public Op, public HasAttributes {
 public:
  FusedUnaryOp(std::string_view name, kernels::Unary kernel, const ComposedUnary& composed)
      : name_(name), kernel_(kernel), derivative_(composed.derivative) {}
  std::string_view name() const override { return name_; }
  std::vector<Attribute> attributes() const override {
    if (kernel_ == kernels::Unary::gelu_tanh) return {{"tanh", true}};
    return {};
  }

  Array forward(const Inputs& x) override { return computed(kernel_, x[0]); }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor& x = saved.input(0);
    if (!may_fuse({x, dy})) {
      return {cast(derivative_(widened(x)) * widened(dy), x.dtype())};
    }
    Array dx(x.shape(), x.dtype());
    kernels::unary_backward(kernel_, x.array(), dy.array(), dx);
    return {Tensor(dx)};
  }

 private:
  std::string_view name_;
  kernels::Unary kernel_;
  std::function<Tensor(const Tensor&)> derivative_;
};

}  // namespace

Tensor Superposition::tangent(TensorSpan x, const Tensor& /*y*/, TensorSpan x_dot) {
  std::vector<Tensor> inputs(x_dot.begin(), x_dot.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) inputs[i] = zeros(x[i].shape(), x[i].dtype());
  }
  return Tensor(forward(Inputs(inputs)));
}

Tensor product_tangent(Op& op, TensorSpan x, TensorSpan x_dot) {
  Tensor sum;
  for (size_t i = 0; i < 2; ++i) {
    if (!x_dot[i].defined()) continue;
    std::vector<Tensor> inputs(x.begin(), x.end());
    inputs[i] = x_dot[i];
    const Tensor term(op.forward(Inputs(inputs)));
    sum = sum.defined() ? sum + term : term;
  }
  return sum;
}

Tensor quotient_tangent(TensorSpan x, const Tensor& y, TensorSpan x_dot) {
  const Tensor &b = x[1], &a_dot = x_dot[0], &b_dot = x_dot[1];
  if (!b_dot.defined()) return a_dot / b;
  return (a_dot.defined() ? a_dot - y * b_dot : -(y * b_dot)) / b;
}

Tensor unary_op(std::string_view name, kernels::Unary kernel, const Tensor& x,
                const UnaryRules& rules) {
  check_floating(name, {"x", x});
  return apply<UnaryOp>({x}, name, kernel, rules);
}

Tensor fused_unary_op(std::string_view name, kernels::Unary kernel, const Tensor& x,
                      const ComposedUnary& composed) {
  check_floating_or_bf16(name, {"x", x});
  if (composed_only()) return cast(composed.value(widened(x)), x.dtype());
  return apply<FusedUnaryOp>({x}, name, kernel, composed);
}

}  // namespace qkv
