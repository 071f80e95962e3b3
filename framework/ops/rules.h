#pragma once

#include <functional>
#include <string_view>

#include "framework/graph/op_faces.h"
#include "framework/graph/tensor.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/ops.h"

// Rules that several ops share: tangents, factors that may be 0, and functions of one number.
namespace qkv {

// An op that is linear in all of its inputs together: ẏ = op(ẋ), and its backward needs none of its
// numbers.
class Superposition : public Op, public HasTangent {
 public:
  Saves saves() const override { return Saves::kNothing; }
  Tensor tangent(TensorSpan x, const Tensor& y, TensorSpan x_dot) override;
};
// An op that is linear in each of its two inputs: ẏ = op(ȧ, b) + op(a, ḃ).
Tensor product_tangent(Op& op, TensorSpan x, TensorSpan x_dot);
// y = a / b, so that y b = a and ẏ b + y ḃ = ȧ.
Tensor quotient_tangent(TensorSpan x, const Tensor& y, TensorSpan x_dot);
// A function of one number: ẏ = derivative(x, y) ẋ. What does not move stays, even where the
// derivative is infinite.
template <class Derivative>
Tensor chain_rule(TensorSpan x, const Tensor& y, TensorSpan x_dot, const Derivative& derivative) {
  Array y_dot(y.shape(), y.dtype());
  dispatch_floating("chain_rule", y.dtype(), [&]<class T>(T) {
    const T *from = x[0].array().data<T>(), *to = y.array().data<T>(),
            *moves = x_dot[0].array().data<T>();
    T* result = y_dot.mutable_data<T>();
    for (int64_t i = 0; i < y_dot.size(); ++i) {
      result[i] = moves[i] == 0 ? T(0) : static_cast<T>(derivative(from[i], to[i]) * moves[i]);
    }
  });
  return Tensor(y_dot);
}

// x with 0 where it is not finite and fill(a, b) holds for a's and b's element.
template <class Fill>
Tensor filled(const Tensor& x, const Tensor& a, const Tensor& b, Fill fill) {
  if (kernels::all_finite(x.array())) return x;
  Array mask(x.shape(), DType::boolean);
  dispatch_floating("filled", x.dtype(), [&]<class T>(T) {
    const T *numbers = x.array().data<T>(), *as = a.array().data<T>(), *bs = b.array().data<T>();
    bool* fills = mask.mutable_data<bool>();
    for (int64_t i = 0; i < x.size(); ++i) {
      fills[i] = !(numbers[i] - numbers[i] == 0) && fill(as[i], bs[i]);
    }
  });
  return masked_fill(x, Tensor(mask), 0.0);
}
// A factor x of d: 0 where d is 0 and x is not finite.
inline Tensor factor_of(const Tensor& d, const Tensor& x) {
  return filled(x, d, d, [](auto element, auto) { return element == 0; });
}
// y (dy - sum(y dy)), the gradient of softmax, in which a 0 of y or dy counts, even beside a NaN.
Tensor softmax_gradient(const Tensor& y, const Tensor& dy);

// An elementwise function of one tensor: a kernel computes it, and the gradient is a formula of the
// input, of the output, or of dy alone. Each function is in the file of its name, with its formula.
struct UnaryRules {
  // dx; set one of the three. Only the tensors that it takes are kept for backward.
  Tensor (*from_input)(const Tensor& x, const Tensor& dy) = nullptr;
  Tensor (*from_output)(const Tensor& y, const Tensor& dy) = nullptr;
  Tensor (*from_dy)(const Tensor& dy) = nullptr;
  // ẏ = derivative(x, y) ẋ
  Scalar (*derivative)(Scalar x, Scalar y) = nullptr;
};

// x is f32 or f64. `name` must outlive the graph: a literal.
Tensor unary_op(std::string_view name, kernels::Unary kernel, const Tensor& x,
                const UnaryRules& rules);

// Also for x in bf16, and with a kernel for dx; the composed formulas serve second derivatives.
struct ComposedUnary {
  std::function<Tensor(const Tensor& x)> value;       // y
  std::function<Tensor(const Tensor& x)> derivative;  // dx / dy
};
Tensor fused_unary_op(std::string_view name, kernels::Unary kernel, const Tensor& x,
                      const ComposedUnary& composed);

}  // namespace qkv
