// The steps of attention one by one, a few lines each, and beside them the ops that have all of it
// in one. The pages of `qkv lab` show the lines between "// [name]" and "// []" beside the
// formulas.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/scaled_dot_product_attention.h"

using namespace qkv;

// [scores]
Tensor scores_of(const Tensor& query, const Tensor& key) {  // [T, D], [T, D]
  return matmul(query, key, {.transpose_b = true});         // Q Kᵀ   [T, T]
}
// []

// [scale]
Tensor scaled(const Tensor& scores, int64_t d_k) {
  return scores / std::sqrt(static_cast<double>(d_k));  // Q Kᵀ / √d_k
}
// []

// [mask]
Tensor masked(const Tensor& scores) {
  const int64_t t = scores.dim(-1);
  const Tensor later = reshape(hidden_keys({.causal = true}, t, t), {t, t});
  return masked_fill(scores, later, -std::numeric_limits<double>::infinity());
}
// []

// [softmax]
Tensor weights_of(const Tensor& scores) {
  const Tensor powers = exp(scores - max(scores, -1, /*keep_axis=*/true));
  return powers / sum(powers, -1, /*keep_axis=*/true);  // each row sums to 1
}
// []

// [weighted sum]
Tensor mixed(const Tensor& weights, const Tensor& value) {  // [T, T], [T, D]
  return matmul(weights, value);                            // y_i = Σ_j p_ij v_j   [T, D]
}
// []

// [heads]
Tensor heads_of(const Tensor& x, int64_t heads) {  // [T, H D]
  const int64_t t = x.dim(0), d = x.dim(1) / heads;
  return transpose(reshape(x, {t, heads, d}), 0, 1);  // [H, T, D]
}
Tensor concatenated(const Tensor& x) {  // [H, T, D]
  return reshape(transpose(x, 0, 1), {x.dim(1), x.dim(0) * x.dim(2)});
}
// []

// [gradient of softmax]
Tensor gradient_of_scores(const Tensor& p, const Tensor& dp) {
  const Tensor share = sum(dp * p, -1, /*keep_axis=*/true);  // rowsum(dP ∘ P)
  return p * (dp - share);                                   // each row sums to 0
}
// []

// [projections]
Tensor projected(const Tensor& x, const Tensor& w) {  // [T, C], [C, D]
  return matmul(x, w);                                // Q = X W_q, K = X W_k, V = X W_v
}
// []

Tensor drawn(const char* name, const Shape& shape) {
  RandomStream stream = RandomStream(1).derive(name);
  return random_normal(shape, stream, DType::f64);
}

Tensor map_of(const char* name, int64_t width) {
  return drawn(name, {width, width}) / std::sqrt(static_cast<double>(width));
}

void print(const char* title, const Tensor& matrix) {  // [rows, columns]
  std::printf("%s\n", title);
  const std::vector<double> numbers = matrix.to_vector();
  for (size_t i = 0; i < numbers.size(); ++i) {
    const bool is_last = (i + 1) % static_cast<size_t>(matrix.dim(-1)) == 0;
    const double rounded = std::round(1e4 * numbers[i]) / 1e4 + 0.0;  // no -0
    std::printf("%9.4f%s", rounded, is_last ? "\n" : "");
  }
}

void print_difference(const char* title, const Tensor& a, const Tensor& b) {
  double largest = 0;
  for (const double x : (a - b).to_vector()) largest = std::max(largest, std::abs(x));
  std::printf("%s: %.1e\n", title, largest);
}

int main() {
  constexpr int64_t kTokens = 4, kWidth = 6, kHeads = 2, kSize = kWidth / kHeads;
  const Tensor x = drawn("x", {kTokens, kWidth});
  const Tensor q = projected(x, map_of("W_q", kWidth));
  const Tensor k = projected(x, map_of("W_k", kWidth));
  const Tensor v = projected(x, map_of("W_v", kWidth));

  const Tensor scores = scores_of(heads_of(q, kHeads), heads_of(k, kHeads));  // [H, T, T]
  const Tensor before = parameter(masked(scaled(scores, kSize)).array());
  const Tensor weights = weights_of(before);
  const Tensor y = concatenated(mixed(weights, heads_of(v, kHeads)));  // [T, H D]
  print("weights of the first head", reshape(slice(weights, 0, 0, 1), {kTokens, kTokens}));
  print("y", y);

  const auto with_heads = [](const Tensor& z) { return reshape(z, {1, kTokens, kHeads, kSize}); };
  const Tensor in_one = attention(with_heads(q), with_heads(k), with_heads(v),
                                  {.mask = {.causal = true}, .scale = 1 / std::sqrt(kSize)});
  print_difference("y by the op attention", y, reshape(in_one, {kTokens, kWidth}));
  print_difference("weights by the op softmax", weights, softmax(before));

  const Tensor dp = drawn("dP", {kHeads, kTokens, kTokens});
  const Tensor ds = gradient_of_scores(weights, dp);
  print("dS of the first head", reshape(slice(ds, 0, 0, 1), {kTokens, kTokens}));
  const Tensor by_backward = backward(softmax(before), {.cotangent = dp})[before];
  print_difference("dS by backward", ds, by_backward);
}
