#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "framework/graph/tensor.h"

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

// The two tensors, which must be of one floating dtype, at their common shape.
struct Pair {
  Tensor a, b;
};
Pair broadcast_together(const char* op, const Tensor& a, const Tensor& b);

}  // namespace qkv
