#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/core/float128.h"
#include "framework/graph/modes.h"
#include "framework/graph/node.h"
#include "framework/graph/op_faces.h"
#include "framework/graph/saved.h"
#include "framework/graph/tensor.h"
#include "framework/kernels/kernels.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/op_examples.h"

// The parts of an op's file: checks of its arguments, and the rules that several ops share:
// tangents, factors that may be 0, and functions of one number.
namespace qkv {

// An argument as error messages name it: "a f32[4, 16]".
struct Argument {
  std::string_view name;
  const Tensor& tensor;
};

std::string describe(std::initializer_list<Argument> arguments);  // "a f32[4, 16], b f64[16]"

// Throw Error, beginning with `op`; all of them on an undefined tensor.
void check_defined(std::string_view op, std::initializer_list<Argument> arguments);
void check_same_dtype(std::string_view op, std::initializer_list<Argument> arguments);
void check_floating(std::string_view op, const Argument& x);          // f32 or f64
void check_floating_or_bf16(std::string_view op, const Argument& x);  // or bf16
void check_dtype(std::string_view op, const Argument& x, DType dtype);
void check_index(std::string_view op, const Argument& index, int64_t bound);  // 0 … bound - 1
int check_axis(std::string_view op, const Argument& x, int axis);             // normalized
void check_dropout(std::string_view op, double p, const Argument& x);         // 0 <= p < 1

// weight, and bias where there is one, must be [C] and of x's dtype, x [..., C] with C above 0.
void check_norm_weights(std::string_view op, const Tensor& x, const Tensor& weight,
                        const Tensor& bias);

// The sizes before an axis, along it, and after it.
struct AroundAxis {
  int64_t outer, n, inner;
};
AroundAxis around_axis(const Shape& shape, int axis);

// With a factor that is not rounded to a double: 1 / 3 has 113 bits where x is f128.
Tensor operator*(Float128 factor, const Tensor& x);
Tensor operator+(const Tensor& x, Float128 term);
Tensor pow(const Tensor& x, Float128 exponent);

// The two tensors, which must be of one floating dtype, at their common shape.
struct Pair {
  Tensor a, b;
};
Pair broadcast_together(const char* op, const Tensor& a, const Tensor& b);

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
// A function of one number: ẏ = derivative(x, y) ẋ. Without ẋ there is no ẏ, even where the
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
  Float128 (*derivative)(Float128 x, Float128 y) = nullptr;
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
