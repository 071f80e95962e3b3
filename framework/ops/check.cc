#include "framework/ops/check.h"

#include "absl/strings/str_join.h"
#include "framework/core/wide.h"
#include "framework/kernels/index.h"
#include "framework/ops/kit.h"

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

}  // namespace qkv
