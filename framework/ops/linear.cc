//   y = x Wᵀ + b                       x: [rows, K], W: [N, K], b: [N], y, dy: [rows, N]
//   dx = dy W,  dW = dyᵀ x,  db = sum(dy) over the rows
//
// With bf16 products x, W and dy are rounded to bf16 before they are multiplied; sums stay f32.
// Rounding counts as the identity: its gradient is 1.
// Micikevicius et al., "Mixed precision training", 2018.

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/graph/node.h"
#include "framework/kernels/matmul.h"
#include "framework/ops/check.h"
#include "framework/ops/examples.h"
#include "framework/ops/ops.h"
#include "framework/ops/rounded_weight.h"

namespace qkv {
namespace {

Array one_batch(const Array& x) {  // [M, N] -> [1, M, N]
  return x.reshaped(x.shape().inserted(0, 1));
}

class Linear final : public Op {
 public:
  explicit Linear(const LinearOptions& options) : options_(options) {}
  std::string_view name() const override { return "linear"; }

  Array forward(const Inputs& x) override {
    if (options_.bf16_products) {
      rounded_input_ = rounded_to_bf16(x[0]);
      rounded_weight_ =
          options_.rounded_weight ? options_.rounded_weight->of(x[1]) : rounded_to_bf16(x[1]);
    }
    const Array& input = options_.bf16_products ? rounded_input_ : x[0];
    const Array& weight = options_.bf16_products ? rounded_weight_ : x[1];
    const int64_t rows = input.shape()[0], n = weight.shape()[0];
    Array y({1, rows, n}, x[0].dtype());
    kernels::matmul(one_batch(input), one_batch(weight), false, true,
                    x.size() > 2 ? &x[2] : nullptr, y);
    return y.reshaped({rows, n});
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    Tensor dx, dweight, dbias;
    const Tensor d = options_.bf16_products ? cast(dy, DType::bf16) : dy;
    if (saved.needs(0)) dx = matmul(d, operand(saved.input(1), rounded_weight_, dy));
    if (saved.needs(1)) {
      dweight = matmul(d, operand(saved.input(0), rounded_input_, dy), {.transpose_a = true});
    }
    if (saved.size() == 2) return {dx, dweight};
    if (saved.needs(2)) dbias = sum_to(dy, saved.shape(2));
    return {dx, dweight, dbias};
  }

 private:
  Tensor operand(const Tensor& x, const Array& rounded, const Tensor& dy) const {
    if (!options_.bf16_products) return x;
    return may_fuse({x, dy}) ? Tensor(rounded) : cast(x, DType::bf16);
  }

  LinearOptions options_;
  Array rounded_input_, rounded_weight_;  // [rows, K], [N, K]: where products are bf16
};

void check_linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const LinearOptions& options) {
  const auto all = [&] {
    return bias.defined() ? describe({{"x", x}, {"weight", weight}, {"bias", bias}})
                          : describe({{"x", x}, {"weight", weight}});
  };
  check_floating("linear", {"x", x});
  check_same_dtype("linear", {{"x", x}, {"weight", weight}});
  if (x.rank() < 1 || weight.rank() != 2) {
    fail(absl::StrCat("linear: x must be [..., K] and weight [N, K]: ", all()));
  }
  if (options.bf16_products && x.dtype() != DType::f32) {
    fail(absl::StrCat("linear: bf16 products are those of f32 tensors: ", all()));
  }
  const int64_t inner = x.dim(-1);
  if (weight.dim(1) != inner) {
    const bool turned = weight.dim(0) == inner;
    fail(absl::StrCat("linear: inner sizes differ: ", all(), ": ", inner, " and ", weight.dim(1),
                      turned ? "; weight must be [out_features, in_features]" : ""));
  }
  if (!bias.defined()) return;
  check_same_dtype("linear", {{"x", x}, {"weight", weight}, {"bias", bias}});
  if (bias.rank() != 1 || bias.dim(0) != weight.dim(0)) {
    fail(absl::StrCat("linear: bias must be [", weight.dim(0),
                      "], as long as weight's first axis: ", all()));
  }
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const LinearOptions& options) {
  check_linear(x, weight, bias, options);
  if (composed_only() && x.rank() >= 2) {
    const auto operand = [&](const Tensor& t) {
      return options.bf16_products ? cast(t, DType::bf16) : t;
    };
    const Tensor y = matmul(operand(x), operand(weight), {.transpose_b = true});
    return bias.defined() ? y + bias : y;
  }
  const int64_t rows = x.shape().without(-1).size();
  std::vector<Tensor> inputs = {reshape(x, {rows, x.dim(-1)}), weight};
  if (bias.defined()) inputs.push_back(bias);
  const Tensor y = apply<Linear>(std::move(inputs), options);
  return reshape(y, x.shape().with(-1, weight.dim(0)).dims());
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
           {"a weight that is no matrix",
            [] {
              linear(zeros({2, 4}), zeros({4}), Tensor());
            },
            "linear: x must be [..., K] and weight [N, K]: x f32[2, 4], weight f32[4]"},
           {"bf16 products of f64 tensors",
            [] {
              linear(zeros({2, 4}, DType::f64), zeros({3, 4}, DType::f64), Tensor(),
                     {.bf16_products = true});
            },
            "linear: bf16 products are those of f32 tensors: x f64[2, 4], weight f64[3, 4]"},
           {"dtypes that differ",
            [] {
              linear(zeros({2, 4}), zeros({3, 4}), zeros({3}, DType::f64));
            },
            "linear: dtypes differ: x f32[2, 4], weight f32[3, 4], bias f64[3]; cast one of "
            "them"}},
  };
}

}  // namespace qkv
