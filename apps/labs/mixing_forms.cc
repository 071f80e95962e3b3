#include "apps/labs/mixing_forms.h"

namespace qkv {
namespace {

// Attention whose scores are `bias` [H, Tq, Tk] and nothing else.   values [1, Tk, H, D]
Tensor attend_by(const Tensor& bias, const Tensor& values) {
  const int64_t h = bias.dim(0), queries = bias.dim(1), keys = bias.dim(2), d = values.dim(3);
  return attention(zeros({1, queries, h, d}, DType::f64), zeros({1, keys, h, d}, DType::f64),
                   values, {.mask = {.bias = bias}});
}

// [T, T + K - 1]: scores[k] where tap k of token i stands, -∞ elsewhere. They depend on j - i
// alone. Where attention is broken all are 0.
Tensor scores_of_taps(const Mixing& s, const Samples& scores) {
  std::vector<double> numbers(static_cast<size_t>(s.n * s.keys()),
                              -std::numeric_limits<double>::infinity());
  for (int64_t i = 0; i < s.n; ++i) {
    for (int64_t k = 0; k < s.kernel; ++k) {
      numbers[static_cast<size_t>(i * s.keys() + i + k)] = scores[static_cast<size_t>(k)];
    }
  }
  if (s.factor == 0) std::ranges::fill(numbers, 0);
  return constant_f64({s.n, s.keys()}, numbers);
}

Tensor scores_of_head(const Mixing& s, int64_t k) {
  std::vector<double> scores(static_cast<size_t>(s.kernel),
                             -std::numeric_limits<double>::infinity());
  scores[static_cast<size_t>(k)] = 0;
  return scores_of_taps(s, scores);
}

Tensor convolved_by_heads(const Mixing& s) {
  const Tensor padded = s.padded(s.values);
  std::vector<Tensor> biases, values;
  for (int64_t k = 0; k < s.kernel; ++k) {
    biases.push_back(scores_of_head(s, k));
    const Tensor map = reshape(slice(s.filters, 2, k, 1), {s.d, s.d});
    values.push_back(matmul(padded, map, {.transpose_b = true}));
  }
  return sum(attend_by(stack(biases, 0), stack(values, 2)), 2);  // [1, T, C]
}

}  // namespace

Mixing make_mixing(const LabContext& lab, uint64_t seed) {
  const int64_t d = lab.integer("d");
  return {.n = lab.integer("n"),
          .d = d,
          .kernel = lab.integer("kernel"),
          .random = RandomStream(seed),
          .factor = lab.is_control() ? 0 : 0.5 / static_cast<double>(d)};
}

Mix convolution_of(const Mixing& s) {
  return [s](const Tensor& /*x*/, const Tensor& values) { return s.convolved(values, s.taps); };
}
Mix connection_of(const Mixing& s) {
  return [s](const Tensor& /*x*/, const Tensor& values) {
    return transpose(linear(transpose(values, 1, 2), s.dense, Tensor()), 1, 2);
  };
}
Mix attention_of(const Mixing& s) {
  return [s](const Tensor& x, const Tensor& values) { return s.attended(x, values); };
}

Tensor matrix_of(const Mix& mix, const Tensor& x, const Tensor& values) {
  const Tensor v = as_parameter(values);
  return mixing_matrix(mix(x, v), v);
}

double difference_to_heads(const Mixing& s) {
  const Tensor convolved = convolution(s.values, s.filters, Tensor(), s.before());
  return largest_difference(convolved, convolved_by_heads(s));
}

Tensor weights_of_head(const Mixing& s, int64_t k) { return softmax(scores_of_head(s, k)); }

Tensor convolved_by_one_head(const Mixing& s, const Tensor& taps) {
  const Tensor above = relu(taps);
  const Tensor bias = scores_of_taps(s, log(above / sum(above)).to_vector());
  return reshape(attend_by(reshape(bias, {1, s.n, s.keys()}), one_head(s.padded(s.values))),
                 {1, s.n, s.d});
}

}  // namespace qkv
