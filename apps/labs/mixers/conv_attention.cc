// Attention and convolution: alike in form, not in spirit. All is y = M x.
#include <functional>
#include <set>

#include "apps/labs/kit/lab_kit.h"
#include "models/mixer_kind.h"

namespace qkv {
namespace {

// Mixes the tokens of `values` [1, T, C], and may look at x [1, T, C] to know how.
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

Mixing make_mixing(const LabContext& lab, uint64_t seed = 1) {
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

// M of y = M v.
Tensor matrix_of(const Mix& mix, const Tensor& x, const Tensor& values) {
  const Tensor v = as_parameter(values);
  return mixing_matrix(mix(x, v), v);
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

double count_different(const Tensor& matrix) {
  const Samples numbers = matrix.to_vector();
  std::set<double> all(numbers.begin(), numbers.end());
  all.erase(0.0);
  return static_cast<double>(all.size());
}

// Each token weighted by itself, and then the sum of them.
Tensor weighed_and_summed(const Tensor& matrix, const Tensor& values) {
  const int64_t n = matrix.dim(0);
  return sum(reshape(matrix, {n, n, 1}) * values, 1);
}

// How many pairs i, j are at most so far apart.
double pairs_within(int64_t n, int64_t distance) {
  double pairs = 0;
  for (int64_t i = 0; i < n; ++i) {
    pairs +=
        static_cast<double>(std::min(n - 1, i + distance) - std::max<int64_t>(0, i - distance)) + 1;
  }
  return pairs;
}

Section alike_section(const Mixing& s) {
  Section section = make_section("conv-attention.alike");
  HeatMaps maps = {.title = say("M of y = M v")};
  const auto all = static_cast<double>(s.n * s.n);
  const auto judge = [&](const Text& name, const Mix& mix, double seen, double different) {
    const Tensor matrix = matrix_of(mix, s.x, s.values);
    const Tensor y = reshape(mix(s.x, s.values), {s.n, s.d});
    section.add(same(say("{0}: y, and tokens weighted one by one and summed", name),
                     largest_difference(y, weighed_and_summed(matrix, s.values))));
    section.add(equal(say("{0}: weights that are not 0", name), seen, count_not_zero(matrix)));
    section.add(equal(say("{0}: different weights", name), different, count_different(matrix)));
    maps.maps.push_back(map_of_inputs(name, matrix));
  };
  judge(say("convolution"), convolution_of(s), pairs_within(s.n, s.before()),
        static_cast<double>(std::min(s.kernel, 2 * s.n - 1)));
  judge(say("full connection"), connection_of(s), all, all);
  judge(say("attention"), attention_of(s), all, all);
  section.show(maps);
  return section;
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

Section fusion_section(const LabContext& lab, const Mixing& s) {
  std::vector<Tensor> summed;
  for (int64_t i = 0; i < s.d; ++i) {
    const Tensor own = reshape(slice(s.filters, 0, i, 1), {s.d, 1, s.kernel});
    summed.push_back(sum(depthwise_convolution(s.x, own, Tensor(), s.before()), -1));
  }
  const int64_t width = 2 * s.d;  // of two heads
  const Tensor q = random_normal(s.random, "q", {1, s.n, 2, s.d});
  const Tensor v = random_normal(s.random, "v", {1, s.n, 2, s.d});
  const Tensor w_output = random_normal(s.random, "W_o", {width, s.d});
  const Tensor heads = attention(q, q, v, {.scale = s.factor});
  Tensor added = zeros(s.x.shape(), DType::f64);
  for (int64_t h = 0; h < 2; ++h) {
    const Tensor head = reshape(slice(heads, 2, h, 1), {1, s.n, s.d});
    added = added + (lab.breaks("fusion") ? head : matmul(head, slice(w_output, 0, h * s.d, s.d)));
  }
  return make_section(
      "conv-attention.fusion",
      {same(
           say("convolution, and channel by channel, summed"),
           largest_difference(convolution(s.x, s.filters, Tensor(), s.before()), stack(summed, 2))),
       same(say("heads times W_o, and head by head, summed"),
            largest_difference(matmul(reshape(heads, {1, s.n, width}), w_output), added))});
}

Section dynamic_section(const Mixing& s) {
  Section section = make_section("conv-attention.dynamic");
  const auto change = [&](const Mix& mix) {
    return largest_difference(matrix_of(mix, s.x, s.values), matrix_of(mix, s.other, s.values));
  };
  const auto reaches = [&](const Mix& mix) {
    const Tensor x = as_parameter(s.x), v = as_parameter(s.values);
    return backward(sum(mix(x, v) * s.other)).contains(x);
  };
  const Mix convolve = convolution_of(s), attend = attention_of(s);
  section.add(equal(say("convolution: change of M with the input"), 0, change(convolve)));
  section.add(equal(say("convolution: gradients from M to the input"), 0, reaches(convolve)));
  section.add(above(say("attention: change of M with the input"), 0, change(attend)));
  section.add(equal(say("attention: gradients from M to the input"), 1, reaches(attend)));
  section.show(HeatMaps{
      .title = say("M for two inputs"),
      .maps = {map_of_inputs(say("convolution, input a"), matrix_of(convolve, s.x, s.values)),
               map_of_inputs(say("convolution, input b"), matrix_of(convolve, s.other, s.values)),
               map_of_inputs(say("attention, input a"), matrix_of(attend, s.x, s.values)),
               map_of_inputs(say("attention, input b"), matrix_of(attend, s.other, s.values))}});
  return section;
}

// How many of the layer's parameters are maps of that role.
template <class Layer>
double count_roles(const Layer& layer) {
  double roles = 0;
  for (const NamedParameter& each : parameters(layer)) {
    for (const char* const role : {"query.weight", "key.weight", "value.weight"}) {
      roles += each.name == role ? 1 : 0;
    }
  }
  return roles;
}

Section roles_section(const LabContext& lab, const Mixing& s) {
  Initializer init(s.random, DType::f64);
  const auto layer_of = [&](const std::string& kind) {
    ModelOptions options = {.d_model = s.d, .mixer = kind, .num_heads = 1};
    if (lab.breaks("maps")) options.attention.projections = Projections::kNone;
    return make_mixer(init, options, {.max_length = s.n, .causal = false, .residual_deviation = 1});
  };
  return make_section("conv-attention.roles",
                      {equal(say("attention: maps of queries, keys and values"), 3,
                             count_roles(std::get<0>(layer_of("attention").kind))),
                       equal(say("convolution: such maps"), 0,
                             count_roles(std::get<1>(layer_of("convolution").kind)))});
}

// Directions of y that the tokens of x do not have.   x, y [1, T, 2 T]
double new_directions(const Tensor& x, const Tensor& y) {
  const int64_t n = x.dim(1);
  const Tensor both = reshape(concat({x, y}, 1), {2 * n, 2 * n});
  const Tensor alone = reshape(concat({x, zeros(x.shape(), DType::f64)}, 1), {2 * n, 2 * n});
  return rank_of(both) - rank_of(alone);
}

// Tokens of twice as many numbers as there are tokens: there is room beside what they span.
Mixing make_roomy(const LabContext& lab, uint64_t seed) {
  Mixing s = make_mixing(lab, seed);
  return {.n = s.n, .d = 2 * s.n, .kernel = s.kernel, .random = s.random, .factor = s.factor};
}

Section self_section(const LabContext& lab, const Mixing& small) {
  const Mixing s = make_roomy(lab, 1);
  const Mix attend = attention_of(small);
  const double change = largest_difference(matrix_of(attend, small.x, small.x),
                                           matrix_of(attend, small.other, small.other));
  return make_section(
      "conv-attention.self",
      {equal(say("attention of a set to itself: directions that the set has not"), 0,
             new_directions(s.x, s.attended(s.x, s.x))),
       equal(say("attention to another set: directions that its own has not"), s.n,
             new_directions(s.x, s.attended(s.x, s.other))),
       above(say("of a set to itself: change of the weights with the set"), 0, change)},
      {map_of_inputs(say("Share of token j in what token i becomes"),
                     matrix_of(attend, small.x, small.x))});
}

Section unrelated_section(const LabContext& lab) {
  const auto all = over_seeds(lab, [&](uint64_t seed) { return make_roomy(lab, seed); });
  const auto seen = [&](const Mixing& s) { return lab.breaks("elsewhere") ? s.other : s.x; };
  const auto value_map = [](const Mixing& s) {
    return reshape(slice(s.filters, 2, 0, 1), {s.d, s.d});
  };
  const Samples convolved =
      values_of(all, [](const Mixing& s) { return new_directions(s.x, s.convolved(s.x, s.taps)); });
  const Samples attended = values_of(
      all, [&](const Mixing& s) { return new_directions(s.x, s.attended(s.x, seen(s))); });
  const Samples filtered = values_of(all, [](const Mixing& s) {
    return new_directions(s.x, convolution(s.x, s.filters, Tensor(), s.before()));
  });
  const Samples mapped = values_of(all, [&](const Mixing& s) {
    return new_directions(s.x, s.attended(s.x, matmul(seen(s), value_map(s))));
  });
  return make_section(
      "conv-attention.unrelated",
      {named("bare", larger(say("directions that the tokens have not, each channel by itself: "
                                "convolution, and attention"),
                            convolved, attended)),
       named("mapped", larger(say("with maps of the channels: convolution, and attention"),
                              filtered, mapped)),
       beyond(named("heads", same(say("any convolution of {0} taps, and {0} heads", all[0].kernel),
                                  difference_to_heads(all[0]))))});
}

std::vector<Section> run(const LabContext& lab) {
  const Mixing mixing = make_mixing(lab);
  return {alike_section(mixing),   window_section(mixing),     fusion_section(lab, mixing),
          dynamic_section(mixing), roles_section(lab, mixing), self_section(lab, mixing),
          unrelated_section(lab)};
}

}  // namespace

Lab conv_attention_lab() { return make_lab("conv-attention", run); }

}  // namespace qkv
