// Attention and convolution: which heads of attention are a convolution.
#include "apps/labs/kit/lab_kit.h"

namespace qkv {
namespace {

struct Mixing {
  int64_t n, d, kernel;
  RandomStream random;
  bool is_control;  // the scores are all 0
  Tensor taps = random_normal(random, "taps", {1, 1, kernel});
  Tensor values = random_normal(random, "values", {1, n, d});
  Tensor filters = random_normal(random, "filters", {d, d, kernel});

  int64_t before() const { return (kernel - 1) / 2; }
  int64_t keys() const { return n + kernel - 1; }  // with zeros beyond both ends
  Tensor padded(const Tensor& y) const { return pad(y, 1, before(), keys()); }
  // By K numbers [1, 1, K], which are the same for each of the C.
  Tensor convolved(const Tensor& y, const Tensor& numbers) const {
    return depthwise_convolution(y, broadcast_to(numbers, {d, 1, kernel}), Tensor(), before());
  }
};

// Attention whose scores are `bias` [H, Tq, Tk] and nothing else.   values [1, Tk, H, D]
Tensor attend_by(const Tensor& bias, const Tensor& values) {
  const int64_t h = bias.dim(0), queries = bias.dim(1), keys = bias.dim(2), d = values.dim(3);
  return attention(zeros({1, queries, h, d}, DType::f64), zeros({1, keys, h, d}, DType::f64),
                   values, {.mask = {.bias = bias}});
}

// [T, T + K - 1]: scores[k] where tap k of token i stands, -∞ elsewhere. They depend on j - i
// alone. In the control all are 0.
Tensor scores_of_taps(const Mixing& s, const Samples& scores) {
  std::vector<double> numbers(static_cast<size_t>(s.n * s.keys()),
                              -std::numeric_limits<double>::infinity());
  for (int64_t i = 0; i < s.n; ++i) {
    for (int64_t k = 0; k < s.kernel; ++k) {
      numbers[static_cast<size_t>(i * s.keys() + i + k)] = scores[static_cast<size_t>(k)];
    }
  }
  if (s.is_control) std::ranges::fill(numbers, 0);
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

Mixing make_mixing(const LabContext& lab) {
  return {.n = lab.integer("n"),
          .d = lab.integer("d"),
          .kernel = lab.integer("kernel"),
          .random = RandomStream(1),
          .is_control = lab.is_control()};
}

// A convolution of C into C channels, and K heads that come to the same: head k looks at the place
// of tap k alone, and has a map of values of its own.
double difference_to_heads(const Mixing& s) {
  const Tensor convolved = convolution(s.values, s.filters, Tensor(), s.before());
  return largest_difference(convolved, convolved_by_heads(s));
}

// Where head k looks.   [T, T + K - 1]
Tensor weights_of_head(const Mixing& s, int64_t k) { return softmax(scores_of_head(s, k)); }

// One head whose weights are those taps [1, 1, K] that are above 0, with the sum 1.
Tensor convolved_by_one_head(const Mixing& s, const Tensor& taps) {
  const Tensor above = relu(taps);
  const Tensor bias = scores_of_taps(s, log(above / sum(above)).to_vector());
  return reshape(attend_by(reshape(bias, {1, s.n, s.keys()}), one_head(s.padded(s.values))),
                 {1, s.n, s.d});
}

Section window_section(const Mixing& s) {
  const Tensor mean_like = softmax(s.taps);
  std::vector<double> difference(static_cast<size_t>(s.kernel), 0.0);
  const auto middle = static_cast<size_t>(s.before());
  difference[middle - 1] = -1;
  difference[middle + 1] = 1;
  const Tensor edges = constant_f64({1, 1, s.kernel}, difference);
  HeatMaps looks = {
      .title = say("Where each of {0} heads looks, with zeros beyond both ends", s.kernel)};
  for (int64_t k = 0; k < s.kernel; ++k) {
    looks.maps.push_back(map_of_inputs(say("head {0}", k + 1), weights_of_head(s, k)));
  }
  const auto compare = [&](const Tensor& taps) {
    return largest_difference(s.convolved(s.values, taps), convolved_by_one_head(s, taps));
  };
  return make_section(
      "conv-attention.window",
      {same(say("convolution with weights above 0 and the sum 1, and one head"),
            compare(mean_like)),
       named("heads", same(say("any convolution of {0} taps, and {0} heads", s.kernel),
                           difference_to_heads(s))),
       beyond(named("edges", same(say("convolution that takes a difference, and one head"),
                                  compare(edges))))},
      {looks});
}

std::vector<Section> run(const LabContext& lab) { return {window_section(make_mixing(lab))}; }

}  // namespace

Lab conv_attention_lab() { return make_lab("conv-attention", run); }

}  // namespace qkv
