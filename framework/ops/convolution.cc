// Over time, with K taps; tap k of position t reads position t + k - before, and zeros beyond the
// ends of a sequence.
//   unfold                                              x: [B, T, C], u: [B, T, K C]
//     u_t = [x_{t - before}, …, x_{t - before + K - 1}]
//     dx = fold(du)
//   fold
//     x_s = sum_k u_{s - k + before}[k C … (k + 1) C - 1]
//     du = unfold(dx)
//   convolution                                         weight: [N, C, K], read as W: [N, K C]
//     y = unfold(x) Wᵀ + b
//   depthwise_convolution                               weight: [C, 1, K], w_k, b, y_t: [C]
//     y_t = sum_k w_k x_{t + k - before} + b
//     dx_s = sum_k w_k dy_{s - k + before}
//     dw_k = sum_t dy_t x_{t + k - before},  db = sum_t dy_t, summed over B, too
//
// LeCun et al., "Backpropagation applied to handwritten zip code recognition", 1989; depthwise:
// Chollet, "Xception", 2017.

#include <string>

#include "framework/core/wide.h"
#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

// Between a sequence and its windows; the shape is the result's.
class Windows : public Superposition, public HasAttributes {
 public:
  Windows(int64_t kernel, int64_t before, const Shape& shape)
      : kernel_(kernel), before_(before), shape_(shape) {}
  std::vector<Attribute> attributes() const override {
    return {{"kernel", kernel_}, {"before", before_}};
  }

 protected:
  int64_t kernel_, before_;
  Shape shape_;
};

class Unfold final : public Windows {
 public:
  using Windows::Windows;
  std::string_view name() const override { return "unfold"; }

  Array forward(const Inputs& x) override {
    Array windows(shape_, x[0].dtype());
    kernels::unfold(x[0], before_, windows);
    return windows;
  }

  std::vector<Tensor> backward(const Saved& /*saved*/, const Tensor& dy) const override {
    return {fold(dy, kernel_, before_)};
  }
};

class Fold final : public Windows {
 public:
  using Windows::Windows;
  std::string_view name() const override { return "fold"; }

  Array forward(const Inputs& windows) override {
    Array x(shape_, windows[0].dtype());
    kernels::fold(windows[0], before_, x);
    return x;
  }

  std::vector<Tensor> backward(const Saved& /*saved*/, const Tensor& dy) const override {
    return {unfold(dy, kernel_, before_)};
  }
};

// A factor for each tap of each number, [K, C].
Tensor tap_factors(const Tensor& weight) {
  return transpose(reshape(weight, {weight.dim(0), weight.dim(2)}), 0, 1);
}

Tensor taps_of(const Tensor& x, int64_t kernel, int64_t before) {  // [B, T, C] -> [B, T, K, C]
  return reshape(unfold(x, kernel, before), {x.dim(0), x.dim(1), kernel, x.dim(2)});
}

Tensor depthwise_composed(const Tensor& x, const Tensor& weight, const Tensor& bias,
                          int64_t before) {
  const Tensor y = sum(taps_of(x, weight.dim(2), before) * tap_factors(weight), 2);  // [B, T, C]
  return bias.defined() ? y + bias : y;
}

class DepthwiseConvolution final : public Op, public HasAttributes {
 public:
  explicit DepthwiseConvolution(int64_t before) : before_(before) {}
  std::string_view name() const override { return "depthwise_convolution"; }
  std::vector<Attribute> attributes() const override { return {{"before", before_}}; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::depthwise_convolution(x[0], x[1], x.size() > 2 ? &x[2] : nullptr, before_, y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor &x = saved.input(0), &weight = saved.input(1);
    std::vector<Tensor> gradients;
    if (may_fuse({x, weight, dy})) {
      Array dx(x.shape(), x.dtype()), dweight(weight.shape(), x.dtype());
      kernels::depthwise_convolution_backward(x.array(), weight.array(), before_, dy.array(), dx,
                                              dweight);
      gradients = {Tensor(dx), Tensor(dweight)};
    } else {
      gradients = backward_composed(x, weight, dy);
    }
    if (saved.size() > 2) gradients.push_back(sum_to(dy, saved.shape(2)));
    return gradients;
  }

 private:
  std::vector<Tensor> backward_composed(const Tensor& x, const Tensor& weight,
                                        const Tensor& dy) const {
    const int64_t kernel = weight.dim(2);
    const Tensor d = reshape(dy, {x.dim(0), x.dim(1), 1, x.dim(2)});  // [B, T, 1, C]
    const Tensor dtaps = d * tap_factors(weight);                     // [B, T, K, C]
    const Tensor dfactors = sum_to(d * taps_of(x, kernel, before_), {kernel, x.dim(2)});
    return {fold(reshape(dtaps, {x.dim(0), x.dim(1), kernel * x.dim(2)}), kernel, before_),
            reshape(transpose(dfactors, 0, 1), weight.shape().dims())};
  }

  int64_t before_;
};

void check_taps(const char* op, int64_t kernel, int64_t before, const std::string& all) {
  if (kernel < 1) fail(absl::StrCat(op, ": needs at least one tap, not ", kernel, ": ", all));
  if (before >= 0 && before < kernel) return;
  fail(absl::StrCat(op, ": ", before, " of ", kernel,
                    " taps cannot stand before the position: ", all));
}

void check_sequences(const char* op, const Tensor& x) {
  check_floating_or_bf16(op, {"x", x});
  if (x.rank() == 3) return;
  fail(absl::StrCat(op, ": x must be [B, T, C]: ", describe({{"x", x}})));
}

void check_convolution(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                       int64_t before, bool depthwise) {
  check_defined(op, {{"x", x}, {"weight", weight}});
  const std::string all = bias.defined() ? describe({{"x", x}, {"weight", weight}, {"bias", bias}})
                                         : describe({{"x", x}, {"weight", weight}});
  check_sequences(op, x);
  const DType dtype = wide_dtype(computed_dtype(x.dtype()));
  if (wide_dtype(weight.dtype()) != dtype ||
      (bias.defined() && wide_dtype(bias.dtype()) != dtype)) {
    fail(absl::StrCat(
        op,
        x.dtype() == dtype ? ": dtypes differ: " : ": an x in bf16 needs an f32 weight and bias: ",
        all));
  }
  const int64_t width = x.dim(2);
  if (weight.rank() != 3 || weight.dim(1) != (depthwise ? 1 : width) ||
      (depthwise && weight.dim(0) != width)) {
    fail(absl::StrCat(
        op, ": weight must be ",
        depthwise ? absl::StrCat("[", width, ", 1, K]") : absl::StrCat("[N, ", width, ", K]"), ": ",
        all));
  }
  if (bias.defined() && bias.shape() != Shape{weight.dim(0)}) {
    fail(absl::StrCat(op, ": bias must be [", weight.dim(0), "]: ", all));
  }
  check_taps(op, weight.dim(2), before, all);
}

}  // namespace

Tensor unfold(const Tensor& x, int64_t kernel, int64_t before) {
  check_sequences("unfold", x);
  check_taps("unfold", kernel, before, describe({{"x", x}}));
  const Shape taps({x.dim(0), x.dim(1), kernel, x.dim(2)}, "unfold");
  if (kernel == 1) return x;
  return apply<Unfold>({x}, kernel, before, x.shape().with(2, taps[2] * taps[3], "unfold"));
}

Tensor fold(const Tensor& x, int64_t kernel, int64_t before) {
  check_sequences("fold", x);
  check_taps("fold", kernel, before, describe({{"x", x}}));
  if (x.dim(2) % kernel != 0) {
    fail(absl::StrCat("fold: the last axis must be a multiple of ", kernel,
                      " taps: ", describe({{"x", x}})));
  }
  if (kernel == 1) return x;
  return apply<Fold>({x}, kernel, before, x.shape().with(2, x.dim(2) / kernel, "fold"));
}

Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t before) {
  check_convolution("convolution", x, weight, bias, before, /*depthwise=*/false);
  const int64_t outputs = weight.dim(0), width = weight.dim(1), kernel = weight.dim(2);
  Shape({x.dim(0), x.dim(1), kernel, width}, "convolution");
  x.shape().with(2, outputs, "convolution");
  const Tensor taps = unfold(x, kernel, before);  // [B, T, K C]
  const Tensor matrix = reshape(permute(weight, {0, 2, 1}), {outputs, kernel * width});  // [N, K C]
  return linear(taps, matrix, bias);
}

Tensor depthwise_convolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                             int64_t before) {
  check_convolution("depthwise_convolution", x, weight, bias, before, /*depthwise=*/true);
  check_floating("depthwise_convolution", {"x", x});
  if (composed_only()) {
    Shape({x.dim(0), x.dim(1), weight.dim(2), x.dim(2)}, "depthwise_convolution");
    return depthwise_composed(x, weight, bias, before);
  }
  std::vector<Tensor> inputs = {x, weight};
  if (bias.defined()) inputs.push_back(bias);
  return apply<DepthwiseConvolution>(std::move(inputs), before);
}

namespace {

ExampleInput normal(const Shape& shape) { return {Fill::kNormal, shape}; }

using Convolve = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, int64_t);

auto with_bias(Convolve op, int64_t before) {
  return [=](std::span<const Tensor> x) { return op(x[0], x[1], x[2], before); };
}
auto without_bias(Convolve op, int64_t before) {
  return [=](std::span<const Tensor> x) { return op(x[0], x[1], Tensor(), before); };
}
auto misuse(Convolve op, const Shape& x, const Shape& weight, int64_t before,
            const Tensor& bias = Tensor()) {
  return [=] { op(zeros(x), zeros(weight), bias, before); };
}

}  // namespace

OpExamples convolution_examples() {
  const auto op = [](const Shape& x, const Shape& weight, int64_t before) {
    return misuse(convolution, x, weight, before);
  };
  return {
      .op = "convolution",
      .examples = {{"causal",
                    {normal({2, 4, 3}), normal({2, 3, 3}), normal({2})},
                    with_bias(convolution, 2)},
                   {"centred, no bias",
                    {normal({1, 5, 2}), normal({3, 2, 3})},
                    without_bias(convolution, 1)},
                   {"more taps than positions",
                    {normal({2, 2, 2}), normal({2, 2, 4}), normal({2})},
                    with_bias(convolution, 1)},
                   {"one tap",
                    {normal({1, 3, 2}), normal({3, 2, 1}), normal({3})},
                    with_bias(convolution, 0)}},
      .errors =
          {{"a matrix", op({2, 3}, {4, 3, 2}, 1), "convolution: x must be [B, T, C]: x f32[2, 3]"},
           {"a weight of another width", op({2, 3, 4}, {5, 3, 2}, 1),
            "convolution: weight must be [N, 4, K]: x f32[2, 3, 4], weight f32[5, 3, 2]"},
           {"a bias of another size", misuse(convolution, {2, 3, 4}, {5, 4, 2}, 1, zeros({4})),
            "convolution: bias must be [5]: x f32[2, 3, 4], weight f32[5, 4, 2], bias f32[4]"},
           {"no taps", op({2, 3, 4}, {5, 4, 0}, 0),
            "convolution: needs at least one tap, not 0: x f32[2, 3, 4], weight f32[5, 4, 0]"},
           {"taps that all stand elsewhere", op({2, 3, 4}, {5, 4, 2}, 2),
            "convolution: 2 of 2 taps cannot stand before the position: x f32[2, 3, 4], weight "
            "f32[5, 4, 2]"},
           {"dtypes that differ",
            [] {
              convolution(zeros({2, 3, 4}), zeros({5, 4, 2}, DType::f64), Tensor(), 1);
            },
            "convolution: dtypes differ: x f32[2, 3, 4], weight f64[5, 4, 2]"},
           {"a bf16 weight",
            [] {
              const Tensor x = zeros({2, 3, 4}, DType::bf16);
              convolution(x, zeros({5, 4, 2}, DType::bf16), Tensor(), 1);
            },
            "convolution: an x in bf16 needs an f32 weight and bias: x bf16[2, 3, 4], weight "
            "bf16[5, 4, 2]"}},
  };
}

OpExamples depthwise_convolution_examples() {
  const auto op = [](const Shape& x, const Shape& weight, int64_t before) {
    return misuse(depthwise_convolution, x, weight, before);
  };
  return {
      .op = "depthwise_convolution",
      .examples = {{"causal",
                    {normal({2, 4, 3}), normal({3, 1, 3}), normal({3})},
                    with_bias(depthwise_convolution, 2)},
                   {"centred, no bias",
                    {normal({1, 5, 2}), normal({2, 1, 3})},
                    without_bias(depthwise_convolution, 1)},
                   {"more taps than positions",
                    {normal({2, 2, 2}), normal({2, 1, 4}), normal({2})},
                    with_bias(depthwise_convolution, 1)}},
      .errors = {{"the weight of a full convolution", op({2, 3, 4}, {4, 4, 2}, 1),
                  "depthwise_convolution: weight must be [4, 1, K]: x f32[2, 3, 4], weight f32[4, "
                  "4, 2]"},
                 {"taps that all stand elsewhere", op({2, 3, 4}, {4, 1, 2}, -1),
                  "depthwise_convolution: -1 of 2 taps cannot stand before the position: x f32[2, "
                  "3, 4], weight f32[4, 1, 2]"},
                 {"bf16",
                  [] {
                    const Tensor x = zeros({2, 3, 4}, DType::bf16);
                    depthwise_convolution(x, zeros({4, 1, 2}), Tensor(), 1);
                  },
                  "depthwise_convolution: needs f32 or f64: x bf16[2, 3, 4]"}},
  };
}

OpExamples unfold_examples() {
  const auto f = [](int64_t kernel, int64_t before) {
    return [=](std::span<const Tensor> x) { return unfold(x[0], kernel, before); };
  };
  return {
      .op = "unfold",
      .examples = {{"causal", {normal({2, 4, 3})}, f(3, 2)},
                   {"centred", {normal({1, 5, 2})}, f(3, 1)},
                   {"more taps than positions", {normal({2, 2, 1})}, f(5, 1)},
                   {"one tap", {normal({2, 3, 1})}, f(1, 0)}},
      .errors = {{"no taps",
                  [] {
                    unfold(zeros({2, 3, 4}), 0, 0);
                  },
                  "unfold: needs at least one tap, not 0: x f32[2, 3, 4]"},
                 {"taps that all stand elsewhere",
                  [] {
                    unfold(zeros({2, 3, 4}), 3, 3);
                  },
                  "unfold: 3 of 3 taps cannot stand before the position: x f32[2, 3, 4]"}},
  };
}

OpExamples fold_examples() {
  const auto f = [](int64_t kernel, int64_t before) {
    return [=](std::span<const Tensor> x) { return fold(x[0], kernel, before); };
  };
  return {
      .op = "fold",
      .examples = {{"causal", {normal({2, 4, 6})}, f(3, 2)},
                   {"centred", {normal({1, 5, 3})}, f(3, 1)},
                   {"more taps than positions", {normal({2, 2, 5})}, f(5, 1)},
                   {"one tap", {normal({2, 3, 1})}, f(1, 0)}},
      .errors = {{"a part of a tap",
                  [] {
                    fold(zeros({2, 3, 4}), 3, 1);
                  },
                  "fold: the last axis must be a multiple of 3 taps: x f32[2, 3, 4]"}},
  };
}

}  // namespace qkv
