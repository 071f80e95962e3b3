#pragma once

#include <functional>

#include "apps/labs/kit.h"

// What mixes tokens: a convolution, a full connection, attention; and attention as a convolution.
namespace qkv {

// What mixes the tokens of `values` [1, T, C], and may look at x [1, T, C] to know how.
using Mix = std::function<Tensor(const Tensor& x, const Tensor& values)>;

struct Mixing {
  int64_t n, d, kernel;
  RandomStream random;
  double factor;  // of the scores
  Tensor taps = random_normal(random, "taps", {1, 1, kernel});
  Tensor dense = random_normal(random, "dense", {n, n});
  Tensor w_query = random_normal(random, "W_q", {d, d});
  Tensor w_key = random_normal(random, "W_k", {d, d});
  Tensor x = random_normal(random, "x", {1, n, d});
  Tensor other = random_normal(random, "other x", {1, n, d});
  Tensor values = random_normal(random, "values", {1, n, d});
  Tensor filters = random_normal(random, "filters", {d, d, kernel});

  int64_t before() const { return (kernel - 1) / 2; }
  int64_t keys() const { return n + kernel - 1; }  // with zeros beyond both ends
  Tensor padded(const Tensor& y) const { return pad(y, 1, before(), keys()); }
  // By K numbers [1, 1, K], which are the same for each of the C.
  Tensor convolved(const Tensor& y, const Tensor& numbers) const {
    return depthwise_convolution(y, broadcast_to(numbers, {d, 1, kernel}), Tensor(), before());
  }
  Tensor attended(const Tensor& y, const Tensor& mixed) const {
    const Tensor q = matmul(y, w_query), k = matmul(y, w_key);
    return reshape(attention(one_head(q), one_head(k), one_head(mixed), {.scale = factor}),
                   {1, n, d});
  }
};

Mixing make_mixing(const LabContext& lab, uint64_t seed = 1);

Mix convolution_of(const Mixing& s);
Mix connection_of(const Mixing& s);
Mix attention_of(const Mixing& s);
// M of y = M v.
Tensor matrix_of(const Mix& mix, const Tensor& x, const Tensor& values);

// A convolution of C into C channels, and K heads that come to the same: head k looks at the place
// of tap k alone, and has a map of values of its own.
double difference_to_heads(const Mixing& s);
// Where head k looks.   [T, T + K - 1]
Tensor weights_of_head(const Mixing& s, int64_t k);
// One head whose weights are those taps [1, 1, K] that are above 0, with the sum 1.
Tensor convolved_by_one_head(const Mixing& s, const Tensor& taps);

}  // namespace qkv
