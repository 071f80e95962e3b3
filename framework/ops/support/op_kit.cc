#include "framework/ops/support/op_kit.h"

#include "absl/strings/str_join.h"
#include "framework/core/wide.h"
#include "framework/ops/support/bf16.h"

namespace qkv {
namespace {

std::string text(std::string_view view) { return std::string(view); }

}  // namespace

std::string describe(std::initializer_list<Argument> arguments) {
  return absl::StrJoin(arguments, ", ", [](std::string* out, const Argument& x) {
    absl::StrAppend(out, text(x.name), " ", x.tensor.describe());
  });
}

void check_defined(std::string_view op, std::initializer_list<Argument> arguments) {
  for (const Argument& x : arguments) {
    if (x.tensor.defined()) continue;
    fail(absl::StrCat(text(op), ": ", text(x.name), " is undefined",
                      arguments.size() > 1 ? absl::StrCat(": ", describe(arguments)) : ""));
  }
}

void check_same_dtype(std::string_view op, std::initializer_list<Argument> arguments) {
  check_defined(op, arguments);
  const DType dtype = wide_dtype(arguments.begin()->tensor.dtype());
  for (const Argument& x : arguments) {
    if (wide_dtype(x.tensor.dtype()) == dtype) continue;
    fail(absl::StrCat(text(op), ": dtypes differ: ", describe(arguments), "; cast one of them"));
  }
}

void check_floating(std::string_view op, const Argument& x) {
  check_defined(op, {x});
  if (is_floating(x.tensor.dtype()) && x.tensor.dtype() != DType::bf16) return;
  fail(absl::StrCat(text(op), ": needs f32 or f64: ", describe({x})));
}

void check_floating_or_bf16(std::string_view op, const Argument& x) {
  check_defined(op, {x});
  if (is_floating(x.tensor.dtype())) return;
  fail(absl::StrCat(text(op), ": needs f32, f64 or bf16: ", describe({x})));
}

void check_dtype(std::string_view op, const Argument& x, DType dtype) {
  check_defined(op, {x});
  if (wide_dtype(x.tensor.dtype()) == wide_dtype(dtype)) return;
  fail(absl::StrCat(text(op), ": needs ", text(dtype_name(dtype)), ": ", describe({x})));
}

void check_index(std::string_view op, const Argument& index, int64_t bound) {
  check_dtype(op, index, DType::i64);
  const int64_t position = kernels::out_of_range(index.tensor.array(), bound);
  if (position < 0) return;
  fail(absl::StrCat(text(op), ": ", describe({index}), " holds ",
                    index.tensor.array().data<int64_t>()[position], " at element ", position,
                    "; it must be from 0 to ", bound - 1));
}

int check_axis(std::string_view op, const Argument& x, int axis) {
  check_defined(op, {x});
  const int rank = x.tensor.rank();
  if (axis < -rank || axis >= rank) {
    fail(absl::StrCat(text(op), ": there is no axis ", axis, " in ", describe({x})));
  }
  return x.tensor.shape().normalize(axis);
}

void check_dropout(std::string_view op, double p, const Argument& x) {
  if (p >= 0.0 && p < 1.0) return;
  fail(absl::StrCat(text(op), ": ", op == "dropout" ? "p" : "dropout",
                    " must be at least 0 and below 1, not ", p, ": ", describe({x})));
}

void check_norm_weights(std::string_view op, const Tensor& x, const Tensor& weight,
                        const Tensor& bias) {
  check_axis(op, {"x", x}, -1);
  check_defined(op, {{"x", x}, {"weight", weight}});
  if (x.dim(-1) == 0) {
    fail(absl::StrCat(text(op), ": the last axis has no elements: ", describe({{"x", x}})));
  }
  const auto check = [&](std::string_view name, const Tensor& parameter) {
    const bool same_dtype = wide_dtype(parameter.dtype()) == wide_dtype(x.dtype());
    if (parameter.shape() == Shape{x.dim(-1)} && same_dtype) return;
    std::string all = describe({{"x", x}, {"weight", weight}});
    if (bias.defined()) absl::StrAppend(&all, ", ", describe({{"bias", bias}}));
    fail(absl::StrCat(text(op), ": ", text(name), " must be ",
                      same_dtype ? "" : "of x's dtype and ", "[", x.dim(-1),
                      "], as long as the last axis: ", all));
  };
  check("weight", weight);
  if (bias.defined()) check("bias", bias);
}

AroundAxis around_axis(const Shape& shape, int axis) {
  AroundAxis result = {1, shape[axis], 1};
  for (int i = 0; i < axis; ++i) result.outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) result.inner *= shape[i];
  return result;
}

Pair broadcast_together(const char* op, const Tensor& a, const Tensor& b) {
  check_same_dtype(op, {{"a", a}, {"b", b}});
  if (!is_floating(a.dtype()) || a.dtype() == DType::bf16) {
    fail(absl::StrCat(op, ": needs f32 or f64: ", describe({{"a", a}, {"b", b}})));
  }
  if (a.shape() == b.shape()) return {a, b};
  const Shape shape = broadcast_shapes(op, a.shape(), b.shape());
  return {broadcast_to(a, shape), broadcast_to(b, shape)};
}

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
