//   y = x Wᵀ + b                       x: [..., K], W: [N, K], b: [N], y, dy: [..., N]
//   dx = dy W,  dW = dyᵀ x,  db = sum(dy), where all axes but the last are rows
//
// With x in bf16, W and dy are rounded to bf16 before they are multiplied; sums stay f32. Rounding
// counts as the identity: its gradient is 1.
// Micikevicius et al., "Mixed precision training", 2018.

#include "framework/core/wide.h"
#include "framework/kernels/product/matmul.h"
#include "framework/ops/support/bf16.h"
#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

Tensor as_rows(const Tensor& x) {  // [..., K] -> [rows, K]
  return reshape(x, {x.shape().without(-1).size(), x.dim(-1)});
}

class Linear final : public Op {
 public:
  Linear(const LinearOptions& options, const Shape& shape) : options_(options), shape_(shape) {}
  std::string_view name() const override { return "linear"; }

  Array forward(const Inputs& x) override {
    const Array& input = x[0];
    if (input.dtype() == DType::bf16) {
      rounded_weight_ =
          options_.rounded_weight ? options_.rounded_weight->of(x[1]) : rounded_to_bf16(x[1]);
    }
    const Array& weight = input.dtype() == DType::bf16 ? rounded_weight_ : x[1];
    const int64_t n = weight.shape()[0], k = weight.shape()[1];
    const int64_t rows = input.shape().without(-1).size();
    Array y({1, rows, n}, options_.bf16_result ? DType::bf16 : x[1].dtype());
    kernels::matmul(input.reshaped({1, rows, k}), weight.reshaped({1, n, k}), false, true,
                    x.size() > 2 ? &x[2] : nullptr, y);
    return y.reshaped(shape_);
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    Tensor dx, dweight, dbias;
    const bool bf16 = saved.dtype(0) == DType::bf16;
    const Tensor d = as_rows(cast(dy, saved.dtype(0)));
    if (saved.needs(0)) {
      dx = reshape(matmul(d, weight_operand(saved, dy), {.bf16_result = bf16}),
                   saved.shape(0).dims());
    }
    if (saved.needs(1)) dweight = matmul(d, as_rows(saved.input(0)), {.transpose_a = true});
    if (saved.size() == 2) return {dx, dweight};
    if (saved.needs(2)) dbias = sum_to(dy, saved.shape(2));
    return {dx, dweight, dbias};
  }

 private:
  Tensor weight_operand(const Saved& saved, const Tensor& dy) const {
    const Tensor& weight = saved.input(1);
    return rounded_weight_.defined() && may_fuse({weight, dy}) ? Tensor(rounded_weight_)
                                                               : cast(weight, saved.dtype(0));
  }

  LinearOptions options_;
  Shape shape_;
  Array rounded_weight_;  // [N, K]: where x is bf16
};

void check_linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const LinearOptions& options) {
  const auto all = [&] {
    return bias.defined() ? describe({{"x", x}, {"weight", weight}, {"bias", bias}})
                          : describe({{"x", x}, {"weight", weight}});
  };
  check_defined("linear", {{"x", x}, {"weight", weight}});
  check_floating_or_bf16("linear", {"x", x});
  if (options.bf16_result && x.dtype() != DType::bf16) {
    fail(absl::StrCat("linear: only an x in bf16 has a bf16 result: ", all()));
  }
  const DType dtype = wide_dtype(computed_dtype(x.dtype()));
  if (wide_dtype(weight.dtype()) != dtype ||
      (bias.defined() && wide_dtype(bias.dtype()) != dtype)) {
    if (x.dtype() == DType::bf16) {
      fail(absl::StrCat("linear: an x in bf16 needs an f32 weight and bias: ", all()));
    }
    fail(absl::StrCat("linear: dtypes differ: ", all(), "; cast one of them"));
  }
  if (x.rank() < 1 || weight.rank() != 2) {
    fail(absl::StrCat("linear: x must be [..., K] and weight [N, K]: ", all()));
  }
  const int64_t inner = x.dim(-1);
  if (weight.dim(1) != inner) {
    const bool turned = weight.dim(0) == inner;
    fail(absl::StrCat("linear: inner sizes differ: ", all(), ": ", inner, " and ", weight.dim(1),
                      turned ? "; weight must be [out_features, in_features]" : ""));
  }
  if (!bias.defined()) return;
  if (bias.rank() != 1 || bias.dim(0) != weight.dim(0)) {
    fail(absl::StrCat("linear: bias must be [", weight.dim(0),
                      "], as long as weight's first axis: ", all()));
  }
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const LinearOptions& options) {
  check_linear(x, weight, bias, options);
  const Shape shape = x.shape().with(-1, weight.dim(0), "linear");
  if (composed_only()) {
    const Tensor product = matmul(as_rows(x), cast(weight, x.dtype()), {.transpose_b = true});
    const Tensor y = bias.defined() ? product + bias : product;
    const DType result = options.bf16_result ? DType::bf16 : weight.dtype();
    return cast(reshape(y, shape.dims()), result);
  }
  std::vector<Tensor> inputs = {x, weight};
  if (bias.defined()) inputs.push_back(bias);
  return apply<Linear>(std::move(inputs), options, shape);
}

OpExamples linear_examples() {
  const auto f = [](std::span<const Tensor> x) { return linear(x[0], x[1], x[2]); };
  const auto no_bias = [](std::span<const Tensor> x) { return linear(x[0], x[1], Tensor()); };
  const auto normal = [](Shape shape) { return ExampleInput{Fill::kNormal, shape}; };
  return {
      .op = "linear",
      .examples = {{"a batch", {normal({2, 3, 4}), normal({5, 4}), normal({5})}, f},
                   {"no bias", {normal({3, 4}), normal({5, 4})}, no_bias},
                   {"a vector", {normal({4}), normal({2, 4}), normal({2})}, f},
                   {"one output", {normal({3, 4}), normal({1, 4}), normal({1})}, f}},
      .errors =
          {{"a weight the other way round",
            [] {
              linear(zeros({2, 4}), zeros({4, 3}), Tensor());
            },
            "linear: inner sizes differ: x f32[2, 4], weight f32[4, 3]: 4 and 3; weight must be "
            "[out_features, in_features]"},
           {"inner sizes that differ",
            [] {
              linear(zeros({2, 4}), zeros({6, 5}), zeros({6}));
            },
            "linear: inner sizes differ: x f32[2, 4], weight f32[6, 5], bias f32[6]: 4 and 5"},
           {"a bias of another size",
            [] {
              linear(zeros({2, 4}), zeros({3, 4}), zeros({4}));
            },
            "linear: bias must be [3], as long as weight's first axis: x f32[2, 4], weight f32[3, "
            "4], bias f32[4]"},
           {"a weight that is not a matrix",
            [] {
              linear(zeros({2, 4}), zeros({4}), Tensor());
            },
            "linear: x must be [..., K] and weight [N, K]: x f32[2, 4], weight f32[4]"},
           {"a bf16 weight",
            [] {
              linear(zeros({2, 4}, DType::bf16), zeros({3, 4}, DType::bf16), Tensor());
            },
            "linear: an x in bf16 needs an f32 weight and bias: x bf16[2, 4], weight bf16[3, 4]"},
           {"a bf16 result of f32 products",
            [] {
              linear(zeros({2, 4}), zeros({3, 4}), Tensor(), {.bf16_result = true});
            },
            "linear: only an x in bf16 has a bf16 result: x f32[2, 4], weight f32[3, 4]"},
           {"dtypes that differ",
            [] {
              linear(zeros({2, 4}), zeros({3, 4}), zeros({3}, DType::f64));
            },
            "linear: dtypes differ: x f32[2, 4], weight f32[3, 4], bias f64[3]; cast one of "
            "them"}},
  };
}

}  // namespace qkv
