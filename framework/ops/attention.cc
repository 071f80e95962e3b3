// For each head h of each sequence b, with D numbers a head:
//   S = scale Q Kᵀ, -inf where the mask hides a key      Q, dQ, O, dO: [B, Tq, H, D]
//   P = softmax(S) over the keys                         K, V, dK, dV: [B, Tk, H, D]
//   O = P V                                              S, P, dS, dP: [B, H, Tq, Tk]
//
//   dV = Pᵀ dO,  dP = dO Vᵀ,  dS = P (dP - sum(P dP)) over the keys
//   dQ = scale dS K,  dK = scale dSᵀ Q
//
// Vaswani et al., "Attention is all you need", 2017. The kernels never hold S or P whole, so that
// memory grows with the length and not with its square: backward makes P again, block by block,
// from S and the logarithm of each row's sum, and takes sum(P dP) as sum(dO O) over D. Dao et al.,
// "FlashAttention", 2022.

#include "framework/kernels/attention.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/graph/node.h"
#include "framework/ops/bf16.h"
#include "framework/ops/check.h"
#include "framework/ops/examples.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

Tensor turned(const Tensor& x) { return transpose(x, 1, 2); }  // [B, T, H, D] <-> [B, H, T, D]

// boolean [B or 1, 1, Tq, Tk], true where a query does not see a key
Tensor hidden_keys(const AttentionOptions& options, int64_t tq, int64_t tk) {
  const bool* padding = options.padding.defined() ? options.padding.array().data<bool>() : nullptr;
  Array mask({padding ? options.padding.dim(0) : 1, 1, tq, tk}, DType::boolean);
  if (mask.size() == 0) return Tensor(mask);
  bool* hidden = mask.mutable_data<bool>();
  for (int64_t b = 0; b < mask.shape()[0]; ++b) {
    for (int64_t i = 0; i < tq; ++i) {
      for (int64_t j = 0; j < tk; ++j) {
        *hidden++ = (options.causal && j > i + tk - tq) || (padding && padding[b * tk + j]);
      }
    }
  }
  return Tensor(mask);
}

Tensor weights_composed(const Tensor& query, const Tensor& key, const AttentionOptions& options) {
  const Tensor scores =
      scale(matmul(turned(query), turned(key), {.transpose_b = true}), options.scale);
  const Tensor hidden = hidden_keys(options, query.dim(1), key.dim(1));
  return softmax(masked_fill(scores, hidden, -std::numeric_limits<double>::infinity()));
}

Tensor attention_composed(const Tensor& query, const Tensor& key, const Tensor& value,
                          const AttentionOptions& options) {
  return turned(matmul(weights_composed(query, key, options), turned(value)));
}

std::vector<Tensor> backward_composed(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const AttentionOptions& options, const Tensor& doutput) {
  const Tensor p = weights_composed(query, key, options);                           // P
  const Tensor dp = matmul(turned(doutput), turned(value), {.transpose_b = true});  // dO Vᵀ
  const Tensor ds = scale(p * (dp - sum(p * dp, -1, /*keep_axis=*/true)), options.scale);
  return {turned(matmul(ds, turned(key))), turned(matmul(ds, turned(query), {.transpose_a = true})),
          turned(matmul(p, turned(doutput), {.transpose_a = true}))};
}

class Attention final : public Op {
 public:
  explicit Attention(const AttentionOptions& options)
      : options_(options), padding_(options.padding.array()) {}
  std::string_view name() const override { return "attention"; }
  Saves saves() const override { return Saves::kInputsAndOutput; }

  Array forward(const Inputs& x) override {
    const Shape& s = x[0].shape();
    Array output(s, x[0].dtype());
    log_sum_exp_ = Array({s[0], s[2], s[1]}, computed_dtype(x[0].dtype()));
    kernels::attention(x[0], x[1], x[2], masks(), options_.scale, output, log_sum_exp_);
    return output;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& doutput) const override {
    const Tensor &query = saved.input(0), &key = saved.input(1), &value = saved.input(2);
    if (!may_fuse({query, key, value, doutput})) {
      std::vector<Tensor> gradients = backward_composed(widened(query), widened(key),
                                                        widened(value), options_, widened(doutput));
      for (Tensor& gradient : gradients) gradient = cast(gradient, query.dtype());
      return gradients;
    }
    Array dquery(query.shape(), query.dtype()), dkey(key.shape(), key.dtype()),
        dvalue(value.shape(), value.dtype());
    kernels::attention_backward(query.array(), key.array(), value.array(), masks(), options_.scale,
                                saved.output().array(), log_sum_exp_, doutput.array(), dquery, dkey,
                                dvalue);
    return {Tensor(dquery), Tensor(dkey), Tensor(dvalue)};
  }

  std::vector<Kept> kept() override {
    std::vector<Kept> all = {{"log_sum_exp", &log_sum_exp_}};
    if (padding_.defined()) all.push_back({"padding", &padding_});
    return all;
  }

 private:
  kernels::AttentionMasks masks() const {
    return {options_.causal, padding_.defined() ? &padding_ : nullptr};
  }

  AttentionOptions options_;
  Array padding_;      // [B, Tk], undefined: none
  Array log_sum_exp_;  // [B, H, Tq]
};

void check_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                     const AttentionOptions& options) {
  const std::string all = describe({{"query", query}, {"key", key}, {"value", value}});
  check_floating_or_bf16("attention", {"query", query});
  check_same_dtype("attention", {{"query", query}, {"key", key}, {"value", value}});
  if (query.rank() != 4 || key.rank() != 4 || value.rank() != 4) {
    fail(absl::StrCat("attention: all must be [B, T, H, D]: ", all));
  }
  if (key.shape() != value.shape()) {
    fail(absl::StrCat("attention: key and value differ: ", all));
  }
  if (key.shape() != query.shape().with(1, key.dim(1), "attention")) {
    fail(absl::StrCat("attention: query and key may differ in length only: ", all));
  }
  // As many scores as are counted must be countable, though no array holds them.
  Shape({query.dim(0), query.dim(2), query.dim(1), key.dim(1)}, "attention");
  if (!options.padding.defined()) return;
  check_dtype("attention", {"padding", options.padding}, DType::boolean);
  if (options.padding.shape() != Shape{key.dim(0), key.dim(1)}) {
    fail(absl::StrCat("attention: padding must be [", key.dim(0), ", ", key.dim(1),
                      "], one for each key: ", describe({{"key", key}}), ", ",
                      describe({{"padding", options.padding}})));
  }
}

}  // namespace

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value,
                 const AttentionOptions& options) {
  check_attention(query, key, value, options);
  if (composed_only()) {
    const Tensor output = attention_composed(widened(query), widened(key), widened(value), options);
    return cast(output, query.dtype());
  }
  return apply<Attention>({query, key, value}, options);
}

OpExamples attention_examples() {
  const auto normal = [](Shape shape) { return ExampleInput{Fill::kNormal, shape}; };
  const auto f = [](bool causal, double scale) {
    return [=](std::span<const Tensor> x) {
      return attention(
          x[0], x[1], x[2],
          {.causal = causal, .padding = x.size() > 3 ? x[3] : Tensor(), .scale = scale});
    };
  };
  const auto misuse = [](Shape query, Shape key, Shape value, const Tensor& padding) {
    return [=] {
      attention(zeros(query), zeros(key), zeros(value),
                {.causal = false, .padding = padding, .scale = 1.0});
    };
  };
  return {
      .op = "attention",
      .examples = {{"two heads",
                    {normal({2, 3, 2, 3}), normal({2, 4, 2, 3}), normal({2, 4, 2, 3})},
                    f(false, 0.5)},
                   {"causal",
                    {normal({1, 5, 2, 2}), normal({1, 5, 2, 2}), normal({1, 5, 2, 2})},
                    f(true, 0.7)},
                   {"causal, more keys than queries",
                    {normal({1, 2, 1, 3}), normal({1, 4, 1, 3}), normal({1, 4, 1, 3})},
                    f(true, 0.9)},
                   {"causal, queries that see nothing",
                    {normal({1, 4, 1, 2}), normal({1, 2, 1, 2}), normal({1, 2, 1, 2})},
                    f(true, 0.9)},
                   {"padding",
                    {normal({2, 2, 1, 3}),
                     normal({2, 4, 1, 3}),
                     normal({2, 4, 1, 3}),
                     {Fill::kMask, {2, 4}}},
                    f(false, 0.6)},
                   {"a sequence with itself",
                    {normal({1, 3, 2, 2})},
                    [](std::span<const Tensor> x) {
                      return attention(x[0], x[0], x[0],
                                       {.causal = true, .padding = Tensor(), .scale = 0.5});
                    }}},
      .errors =
          {{"a matrix", misuse({2, 3}, {2, 3}, {2, 3}, Tensor()),
            "attention: all must be [B, T, H, D]: query f32[2, 3], key f32[2, 3], value f32[2, 3]"},
           {"keys and values of other lengths",
            misuse({1, 3, 2, 4}, {1, 5, 2, 4}, {1, 6, 2, 4}, Tensor()),
            "attention: key and value differ: query f32[1, 3, 2, 4], key f32[1, 5, 2, 4], value "
            "f32[1, 6, 2, 4]"},
           {"heads of other widths", misuse({1, 3, 2, 4}, {1, 3, 2, 5}, {1, 3, 2, 5}, Tensor()),
            "attention: query and key may differ in length only: query f32[1, 3, 2, 4], key "
            "f32[1, 3, 2, 5], value f32[1, 3, 2, 5]"},
           {"padding of another length",
            misuse({1, 3, 2, 4}, {1, 5, 2, 4}, {1, 5, 2, 4}, zeros({1, 3}, DType::boolean)),
            "attention: padding must be [1, 5], one for each key: key f32[1, 5, 2, 4], padding "
            "bool[1, 3]"},
           {"padding of numbers", misuse({1, 3, 2, 4}, {1, 5, 2, 4}, {1, 5, 2, 4}, zeros({1, 5})),
            "attention: needs bool: padding f32[1, 5]"},
           {"dtypes that differ",
            [] {
              attention(zeros({1, 3, 2, 4}), zeros({1, 3, 2, 4}, DType::f64), zeros({1, 3, 2, 4}));
            },
            "attention: dtypes differ: query f32[1, 3, 2, 4], key f64[1, 3, 2, 4], value f32[1, 3, "
            "2, 4]; cast one of them"}},
  };
}

}  // namespace qkv
