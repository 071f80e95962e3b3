// For each head h of each sequence b, with D numbers a head:
//   S = scale Q Kᵀ + bias, -inf where a key is hidden      Q, dQ, O, dO: [B, Tq, H, D]
//   P = softmax(S) over the keys                           K, V, dK, dV: [B, Tk, K, D]
//   O = M P V                                              S, P, M, dS, dP: [B, H, Tq, Tk]
// where M is that of dropout, 1 / (1 - p) or 0 for each weight, and 1 without.
//
//   dV = (M P)ᵀ dO,  dP = M dO Vᵀ,  dS = P (dP - sum(P dP)) over the keys
//   dQ = scale dS K,  dK = scale dSᵀ Q,  dbias = dS, summed over what it was broadcast to, or, of a
//   bias that depends on the distance alone, over the pairs of each distance
//
// With K heads of keys and values, K a divisor of H, each serves H / K heads of queries, one after
// the other, and its gradients are the sums of theirs.
//
// Vaswani et al., "Attention is all you need", 2017. The kernels never hold S or P whole, so that
// memory grows with the length and not with its square: backward makes P again, block by block,
// from S and the logarithm of each row's sum, and takes sum(P dP) as sum(dO O) over D. Dao et al.,
// "FlashAttention", 2022. M is a function of the stream, and is made again as well.

#include <limits>
#include <string>
#include <vector>

#include "framework/graph/middleware.h"
#include "framework/kernels/attention/fused_attention.h"
#include "framework/ops/support/bf16.h"
#include "framework/ops/support/op_kit.h"
#include "framework/ops/support/scaled_dot_product_attention.h"

namespace qkv {
namespace {

// The last step of attention in the kernels; its backward reads the rounded output:
//   O = N / s in `dtype`                 N: [..., D], s: [..., 1], O, dO: [..., D]
//   dN = dO / s,  ds = -sum(dO O) / s    sum over D
//   Ȯ = (Ṅ - O ṡ) / s
// For scores S, N is exp(S) V and s is sum(exp(S)), which must not be 0. In the place of sum(dO O),
// softmax(S) V would have sum(P dP): the same, but for rounding. Dao et al., "FlashAttention",
// 2022.
class AttentionOutput final : public Op, public HasTangent {
 public:
  explicit AttentionOutput(DType dtype) : dtype_(dtype) {}
  std::string_view name() const override { return "attention_output"; }
  Saves saves() const override { return Saves::kInputsAndOutput; }

  Array forward(const Inputs& x) override {
    const Array y = (Tensor(x[0]) / Tensor(x[1])).array();
    return dtype_ == DType::bf16 && y.dtype() == DType::f32 ? rounded_to_bf16(y) : y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor& sums = saved.input(1);
    const Tensor d = widened(dy);
    const Tensor dot = sum(d * widened(saved.output()), -1, /*keep_axis=*/true);
    return {d / sums, neg(dot / sums)};
  }

  Tensor tangent(TensorSpan x, const Tensor& y, TensorSpan x_dot) override {
    return quotient_tangent(x, y, x_dot);
  }

 private:
  DType dtype_;
};

Tensor attention_output(const Tensor& numerators, const Tensor& sums, DType dtype) {
  return apply<AttentionOutput>({numerators, sums}, dtype);
}

constexpr double kLowest = std::numeric_limits<float>::lowest();

Tensor turned(const Tensor& x) { return transpose(x, 1, 2); }  // [B, T, H, D] <-> [B, H, T, D]

Tensor attention_composed(const Tensor& query, const Tensor& key, const Tensor& value,
                          const AttentionOptions& options) {
  const auto operand = [](const Tensor& x) { return widened(turned(x)); };
  const Tensor heads =
      turned(scaled_dot_product_attention(operand(query), operand(key), operand(value), options));
  return cast(heads, query.dtype());
}

// With every rounding that the kernels have in f32 and bf16:
//   lse = m + log(sum(exp(S - m))), m = max(S) over the keys
//   O = (M exp(S - m)) V / exp(lse - m)
Tensor attention_with_all_roundings(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  const Tensor scores =
      masked_scores(turned(widened(query)), turned(widened(key)), options);  // [B, H, Tq, Tk]
  const Tensor largest = max(scores.detached(), -1, /*keep_axis=*/true);
  const Tensor hidden = is_at_most(largest, kLowest);  // the whole row: zeros
  const Tensor m = masked_fill(largest, hidden, 0.0);
  const Tensor e =
      filled(exp(scores - m), scores, scores, [](auto score, auto) { return score <= kLowest; });
  const Tensor log_sum_exp =
      m + log(masked_fill(sum(e, -1, /*keep_axis=*/true), hidden, 1.0));  // [B, H, Tq, 1]
  const Tensor dropped =
      options.dropout > 0 ? dropout(e, options.dropout, options.stream) : e;  // M exp(S - m)
  return turned(attention_output(masked_matmul(dropped, turned(widened(value))),
                                 exp(log_sum_exp - m), query.dtype()));
}

std::vector<Tensor> backward_composed(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const AttentionOptions& options, const Tensor& doutput) {
  const auto dropped = [&](const Tensor& x) {  // M x
    return options.dropout > 0 ? dropout(x, options.dropout, options.stream) : x;
  };
  const Tensor q = turned(query), k = turned(key), v = turned(value), d = turned(doutput);
  const Tensor p = attention_weights(q, k, options);                      // P
  const Tensor dp = dropped(masked_matmul(d, v, {.transpose_b = true}));  // M dO Vᵀ
  const Tensor ds = softmax_gradient(p, dp);                              // dS
  const Tensor dproduct = scale(ds, options.scale);                       // of Q Kᵀ
  std::vector<Tensor> gradients = {turned(masked_matmul(dproduct, k)),
                                   turned(masked_matmul(dproduct, q, {.transpose_a = true})),
                                   turned(masked_matmul(dropped(p), d, {.transpose_a = true}))};
  if (const Tensor& bias = options.mask.bias; bias.defined()) {
    gradients.push_back(sum_to(ds, bias.shape()));
  } else if (options.mask.relative_bias.defined()) {
    gradients.push_back(sum_of_distances(sum_to(ds, ds.shape().without(0))));
  }
  return gradients;
}

class Attention final : public Op, public HasKept {
 public:
  explicit Attention(const AttentionOptions& options)
      : options_(options),
        relative_(options.mask.relative_bias.defined()),
        padding_(options.mask.padding.array()) {
    options_.mask.bias = options_.mask.relative_bias = Tensor();  // they are inputs
  }
  std::string_view name() const override { return "attention"; }
  Saves saves() const override { return Saves::kInputsAndOutput; }

  Array forward(const Inputs& x) override {
    const Shape& s = x[0].shape();
    Array output(s, x[0].dtype());
    log_sum_exp_ = Array({s[0], s[2], s[1]}, computed_dtype(x[0].dtype()));
    kernels::attention(x[0], x[1], x[2], arguments(s, x[1].shape(), x.size() > 3 ? &x[3] : nullptr),
                       output, log_sum_exp_);
    return output;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& doutput) const override {
    const Tensor &query = saved.input(0), &key = saved.input(1), &value = saved.input(2);
    const Tensor bias = saved.size() > 3 ? saved.input(3) : Tensor();
    const bool may_fuse_all = bias.defined() ? may_fuse({query, key, value, bias, doutput})
                                             : may_fuse({query, key, value, doutput});
    if (!may_fuse_all) {
      AttentionOptions options = options_;
      (relative_ ? options.mask.relative_bias : options.mask.bias) = bias;
      const auto for_each_query = [&](const Tensor& x) {
        return repeated_heads(widened(x), query.dim(2));
      };
      std::vector<Tensor> gradients = backward_composed(
          widened(query), for_each_query(key), for_each_query(value), options, widened(doutput));
      for (size_t i = 0; i < 3; ++i) gradients[i] = cast(gradients[i], query.dtype());
      return of_shared_heads(std::move(gradients), key.dim(2));
    }
    const Shape of_each_query = key.shape().with(2, query.dim(2), "attention");
    Array dquery(query.shape(), query.dtype()), dkey(of_each_query, key.dtype()),
        dvalue(of_each_query, value.dtype()), dbias;
    if (bias.defined() && saved.needs(3)) {
      const Shape& shape = bias.shape();
      dbias = Array(relative_ ? shape.inserted(0, query.dim(0)) : shape, bias.dtype());
    }
    kernels::attention_backward(
        query.array(), key.array(), value.array(),
        arguments(query.shape(), key.shape(), bias.defined() ? &bias.array() : nullptr),
        saved.output().array(), log_sum_exp_, doutput.array(),
        {dquery, dkey, dvalue, dbias.defined() ? &dbias : nullptr});
    std::vector<Tensor> gradients = {Tensor(dquery), Tensor(dkey), Tensor(dvalue)};
    if (bias.defined()) gradients.emplace_back(dbias);
    if (relative_ && dbias.defined()) gradients[3] = sum(gradients[3], 0);  // over the sequences
    return of_shared_heads(std::move(gradients), key.dim(2));
  }

  std::vector<Kept> kept() override {
    std::vector<Kept> all = {{"log_sum_exp", &log_sum_exp_}};
    if (padding_.defined()) all.push_back({"padding", &padding_});
    return all;
  }

 private:
  static std::vector<Tensor> of_shared_heads(std::vector<Tensor> gradients, int64_t shared) {
    for (const size_t i : {1, 2}) gradients[i] = sum_of_repeated_heads(gradients[i], shared);
    return gradients;
  }

  kernels::AttentionArguments arguments(const Shape& query, const Shape& key,
                                        const Array* bias) const {
    return {.rule = key_rule(options_.mask, query[1], key[1]),
            .padding = padding_.defined() ? &padding_ : nullptr,
            .bias = bias,
            .bias_is_relative = relative_,
            .scale = options_.scale,
            .dropout = options_.dropout,
            .stream = options_.stream};
  }

  AttentionOptions options_;
  bool relative_;      // the bias, where there is one
  Array padding_;      // [B, Tk], undefined: none
  Array log_sum_exp_;  // [B, H, Tq]
};

void check_bias(const Tensor& query, const Tensor& key, const Tensor& bias) {
  check_dtype("attention", {"bias", bias}, computed_dtype(query.dtype()));
  const Shape scores{query.dim(0), query.dim(2), query.dim(1), key.dim(1)};
  bool fits = bias.rank() <= scores.rank();
  for (int axis = 1; fits && axis <= bias.rank(); ++axis) {
    fits = bias.dim(-axis) == 1 || bias.dim(-axis) == scores[-axis];
  }
  if (fits) return;
  fail(absl::StrCat("attention: bias must broadcast to the scores, ", scores.to_string(), ": ",
                    describe({{"query", query}, {"key", key}, {"bias", bias}})));
}

void check_relative_bias(const Tensor& query, const Tensor& key, const AttentionMask& mask) {
  const Tensor& bias = mask.relative_bias;
  const std::string all = describe({{"query", query}, {"key", key}, {"relative_bias", bias}});
  if (mask.bias.defined()) {
    fail(absl::StrCat("attention: bias and relative_bias exclude each other: ", all));
  }
  check_dtype("attention", {"relative_bias", bias}, computed_dtype(query.dtype()));
  const Shape shape{query.dim(2), distance_count(query.dim(1), key.dim(1))};
  if (bias.shape() == shape) return;
  fail(absl::StrCat("attention: relative_bias must be ", shape.to_string(),
                    ", a number for each head and distance: ", all));
}

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
  const int64_t heads = query.dim(2), shared = key.dim(2);
  if (key.shape().with(2, heads, "attention") != query.shape().with(1, key.dim(1), "attention")) {
    fail(absl::StrCat("attention: query and key may differ in length only: ", all));
  }
  if (heads != shared && (heads * shared == 0 || heads % shared != 0)) {
    fail(absl::StrCat("attention: the heads of key must divide those of query: ", all));
  }
  // As many scores as are counted must be countable, though no array holds them.
  Shape({query.dim(0), query.dim(2), query.dim(1), key.dim(1)}, "attention");
  key_rule(options.mask, query.dim(1), key.dim(1));
  check_dropout("attention", options.dropout, {"query", query});
  if (options.mask.bias.defined()) check_bias(query, key, options.mask.bias);
  if (options.mask.relative_bias.defined()) check_relative_bias(query, key, options.mask);
  const Tensor& padding = options.mask.padding;
  if (!padding.defined()) return;
  check_dtype("attention", {"padding", padding}, DType::boolean);
  if (padding.shape() != Shape{key.dim(0), key.dim(1)}) {
    fail(absl::StrCat("attention: padding must be [", key.dim(0), ", ", key.dim(1),
                      "], one for each key: ", describe({{"key", key}}), ", ",
                      describe({{"padding", padding}})));
  }
}

}  // namespace

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value,
                 const AttentionOptions& options) {
  check_attention(query, key, value, options);
  if (composed_only() || step_by_step()) {
    const Tensor k = repeated_heads(key, query.dim(2)), v = repeated_heads(value, query.dim(2));
    note("q", query);
    note("k", k);
    note("v", v);
    const bool rounds_as_kernels =
        !step_by_step() && computed_dtype(query.dtype()) == DType::f32 && key.dim(1) > 0;
    return rounds_as_kernels ? attention_with_all_roundings(query, k, v, options)
                             : attention_composed(query, k, v, options);
  }
  std::vector<Tensor> inputs = {query, key, value};
  for (const Tensor& bias : {options.mask.bias, options.mask.relative_bias}) {
    if (bias.defined()) inputs.push_back(bias);
  }
  return apply<Attention>(std::move(inputs), options);
}

OpExamples attention_examples() {
  const auto normal = [](Shape shape) { return ExampleInput{Fill::kNormal, shape}; };
  const auto f = [](const AttentionOptions& options) {
    return [=](std::span<const Tensor> x) { return attention(x[0], x[1], x[2], options); };
  };
  const auto padded = [](std::span<const Tensor> x) {
    return attention(x[0], x[1], x[2], {.mask = {.padding = x[3]}, .scale = 0.6});
  };
  const auto biased = [](const AttentionOptions& options) {
    return [=](std::span<const Tensor> x) {
      AttentionOptions all = options;
      all.mask.bias = x[3];
      if (x.size() > 4) all.mask.padding = x[4];
      return attention(x[0], x[1], x[2], all);
    };
  };
  const auto relative = [](const AttentionOptions& options) {
    return [=](std::span<const Tensor> x) {
      AttentionOptions all = options;
      all.mask.relative_bias = x[3];
      return attention(x[0], x[1], x[2], all);
    };
  };
  const auto inputs = [&](int64_t b, int64_t tq, int64_t tk, int64_t h, int64_t d,
                          std::vector<ExampleInput> more = {}) {
    std::vector<ExampleInput> all = {normal({b, tq, h, d}), normal({b, tk, h, d}),
                                     normal({b, tk, h, d})};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const auto misuse = [](Shape query, Shape key, Shape value, const AttentionMask& mask) {
    return [=] { attention(zeros(query), zeros(key), zeros(value), {.mask = mask}); };
  };
  const auto misused_mask = [&](const AttentionMask& mask) {
    return misuse({1, 3, 2, 4}, {1, 5, 2, 4}, {1, 5, 2, 4}, mask);
  };
  const AttentionMask causal = {.causal = true};
  return {
      .op = "attention",
      .examples = {{"two heads", inputs(2, 3, 4, 2, 3), f({.scale = 0.5})},
                   {"causal", inputs(1, 5, 5, 2, 2), f({.mask = causal, .scale = 0.7})},
                   {"causal, more keys than queries", inputs(1, 2, 4, 1, 3),
                    f({.mask = causal, .scale = 0.9})},
                   {"causal, queries that see nothing", inputs(1, 4, 2, 1, 2),
                    f({.mask = causal, .scale = 0.9})},
                   {"causal, queries from the first key on", inputs(1, 2, 4, 1, 2),
                    f({.mask = {.causal = true, .first_query = 0}, .scale = 0.9})},
                   {"causal, in a window of two", inputs(1, 5, 5, 2, 2),
                    f({.mask = {.causal = true, .window = 2}, .scale = 0.7})},
                   {"in a window to both sides", inputs(2, 5, 5, 1, 2),
                    f({.mask = {.window = 2}, .scale = 0.7})},
                   {"in a window, queries after the last key that see nothing",
                    inputs(1, 4, 3, 1, 2),
                    f({.mask = {.window = 2, .first_query = 2}, .scale = 0.8})},
                   {"padding", inputs(2, 2, 4, 1, 3, {{Fill::kMask, {2, 4}}}), padded},
                   {"a bias for each head", inputs(2, 3, 4, 2, 2, {normal({2, 3, 4})}),
                    biased({.scale = 0.6})},
                   {"a bias for each sequence, causal, in a window",
                    inputs(2, 3, 3, 2, 2, {normal({2, 1, 3, 3})}),
                    biased({.mask = {.causal = true, .window = 2}, .scale = 0.6})},
                   {"a bias of the keys, padding",
                    inputs(2, 2, 4, 2, 2, {normal({4}), {Fill::kMask, {2, 4}}}),
                    biased({.scale = 0.6})},
                   {"a bias for each distance", inputs(2, 3, 4, 2, 2, {normal({2, 6})}),
                    relative({.scale = 0.6})},
                   {"a bias for each distance, causal, in a window",
                    inputs(2, 4, 4, 1, 2, {normal({1, 7})}),
                    relative({.mask = {.causal = true, .window = 2}, .scale = 0.6})},
                   {"two query heads for each key head, causal, with dropout",
                    {normal({2, 3, 4, 2}), normal({2, 5, 2, 2}), normal({2, 5, 2, 2})},
                    f({.mask = causal, .scale = 0.6, .dropout = 0.4, .stream = RandomStream(7)})},
                   {"dropout", inputs(2, 3, 4, 2, 2),
                    f({.scale = 0.6, .dropout = 0.4, .stream = RandomStream(7)})},
                   {"a sequence with itself",
                    {normal({1, 3, 2, 2})},
                    [=](std::span<const Tensor> x) {
                      return attention(x[0], x[0], x[0], {.mask = causal, .scale = 0.5});
                    }}},
      .errors =
          {{"a matrix", misuse({2, 3}, {2, 3}, {2, 3}, {}),
            "attention: all must be [B, T, H, D]: query f32[2, 3], key f32[2, 3], value f32[2, 3]"},
           {"keys and values of other lengths",
            misuse({1, 3, 2, 4}, {1, 5, 2, 4}, {1, 6, 2, 4}, {}),
            "attention: key and value differ: query f32[1, 3, 2, 4], key f32[1, 5, 2, 4], value "
            "f32[1, 6, 2, 4]"},
           {"heads of other widths", misuse({1, 3, 2, 4}, {1, 3, 2, 5}, {1, 3, 2, 5}, {}),
            "attention: query and key may differ in length only: query f32[1, 3, 2, 4], key "
            "f32[1, 3, 2, 5], value f32[1, 3, 2, 5]"},
           {"heads that do not divide", misuse({1, 3, 3, 4}, {1, 3, 2, 4}, {1, 3, 2, 4}, {}),
            "attention: the heads of key must divide those of query: query f32[1, 3, 3, 4], key "
            "f32[1, 3, 2, 4], value f32[1, 3, 2, 4]"},
           {"padding of another length", misused_mask({.padding = zeros({1, 3}, DType::boolean)}),
            "attention: padding must be [1, 5], one for each key: key f32[1, 5, 2, 4], padding "
            "bool[1, 3]"},
           {"padding of numbers", misused_mask({.padding = zeros({1, 5})}),
            "attention: needs bool: padding f32[1, 5]"},
           {"a bias of another length", misused_mask({.bias = zeros({2, 3, 4})}),
            "attention: bias must broadcast to the scores, [1, 2, 3, 5]: query f32[1, 3, 2, 4], "
            "key f32[1, 5, 2, 4], bias f32[2, 3, 4]"},
           {"a bias in another number type", misused_mask({.bias = zeros({3, 5}, DType::f64)}),
            "attention: needs f32: bias f64[3, 5]"},
           {"a relative bias of other distances", misused_mask({.relative_bias = zeros({2, 8})}),
            "attention: relative_bias must be [2, 7], a number for each head and distance: query "
            "f32[1, 3, 2, 4], key f32[1, 5, 2, 4], relative_bias f32[2, 8]"},
           {"two biases", misused_mask({.bias = zeros({3, 5}), .relative_bias = zeros({2, 7})}),
            "attention: bias and relative_bias exclude each other: query f32[1, 3, 2, 4], "
            "key f32[1, 5, 2, 4], relative_bias f32[2, 7]"},
           {"a window that ends before it begins", misused_mask({.window = -1}),
            "attention: the window must be 0 (none) or more, not -1"},
           {"queries that stand nowhere", misused_mask({.first_query = 6}),
            "attention: the first of 3 queries is at position 6; it must be from 0 to 5"},
           {"dropout of everything",
            [] {
              const Tensor x = zeros({1, 3, 2, 4});
              attention(x, x, x, {.dropout = 1.0});
            },
            "attention: dropout must be at least 0 and below 1, not 1: query f32[1, 3, 2, 4]"},
           {"dtypes that differ",
            [] {
              attention(zeros({1, 3, 2, 4}), zeros({1, 3, 2, 4}, DType::f64), zeros({1, 3, 2, 4}));
            },
            "attention: dtypes differ: query f32[1, 3, 2, 4], key f64[1, 3, 2, 4], value f32[1, 3, "
            "2, 4]; cast one of them"}},
  };
}

}  // namespace qkv
