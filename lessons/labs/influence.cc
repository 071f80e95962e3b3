// Who sees whom: |dy_i / dx_j| of attention, convolution and recurrence, by backward.
#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/report/statistics.h"
#include "models/mixer.h"
#include "models/stack.h"

namespace qkv {
namespace {

using Network = std::function<Tensor(const Tensor& x)>;  // [B, T, C] -> [B, T, C]

// |dy_i / dx_j| for all i and j at once: T C copies of x, and for each another number of y whose
// gradient is taken.   x [T, C] -> [T, T]
Tensor influence(const Network& network, const Tensor& x) {
  const int64_t n = x.dim(0), d = x.dim(1), copies = n * d;
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < copies; ++i) numbers.push_back(i);
  const Tensor one_each = one_hot(Tensor(Array::of({copies}, numbers)), copies, DType::f64);
  const Tensor batch = as_parameter(broadcast_to(reshape(x, {1, n, d}), {copies, n, d}));
  const Tensor back =
      backward(network(batch), {.cotangent = reshape(one_each, {copies, n, d})})[batch];
  return sqrt(sum(sum(reshape(back * back, {n, d, n, d}), 3), 1));
}

// The largest distance |i - j| over which there is any influence.
int64_t reach_of(const Tensor& influence) {
  const std::vector<double> numbers = influence.to_vector();
  const int64_t n = influence.dim(0);
  int64_t reach = 0;
  for (int64_t i = 0; i < n * n; ++i) {
    if (numbers[static_cast<size_t>(i)] != 0) reach = std::max(reach, std::abs(i / n - i % n));
  }
  return reach;
}

Tensor make_words(const LabContext& lab, uint64_t seed) {
  return random_normal(RandomStream(seed).derive("x"), {lab.integer("n"), lab.integer("d")});
}

ModelOptions options_of(const LabContext& lab, MixerKind mixer, Cell cell = Cell::kLstm) {
  ModelOptions options;
  options.d_model = options.d_ff = lab.integer("d");
  options.num_heads = 1;
  options.position = Position::kNone;
  options.mixer = mixer;
  options.cell = cell;
  options.kernel = lab.integer("kernel");
  return options;
}

// Whole blocks, as in an encoder.
Network encoder(const LabContext& lab, uint64_t seed, MixerKind mixer, int64_t layers) {
  ModelOptions options = options_of(lab, mixer);
  options.num_layers = layers;
  options.attention.window = lab.is_control() && mixer == MixerKind::kAttention ? 1 : 0;
  Initializer init(RandomStream(seed), DType::f64);
  const Stack stack(init, options, Stack::Role::kEncoder, lab.integer("n"));
  return [stack](const Tensor& x) {
    ForwardContext context;
    return stack(x, Tensor(), context);
  };
}

// A mixer alone: what it does itself, without the residual stream around it.
Network mixer_of(const LabContext& lab, const Mixer& mixer, bool causal) {
  const int64_t window = lab.is_control() && mixer.name() == "attention" ? 2 : 0;
  return [mixer, causal, window](const Tensor& x) {
    ForwardContext context;
    return mixer(x, {.causal = causal, .window = window}, context);
  };
}

Mixer make_mixer(const LabContext& lab, uint64_t seed, const ModelOptions& options, bool causal) {
  Initializer init(RandomStream(seed), DType::f64);
  return make_mixer(init, options, lab.integer("n"), causal,
                    1 / std::sqrt(static_cast<double>(options.d_model)));
}

Section reach_section(const LabContext& lab) {
  const int64_t n = lab.integer("n"), half = (lab.integer("kernel") - 1) / 2;
  Section section = {
      .claims =
          {{"C44", "y_i = f(x_{i-1},x_{i},x_{i+1})", "Convolution, with a kernel of length 3."},
           {"C48", "每一个卷积核只能感受局部的信息，要获得更大的receptive field需要加深层数。",
            "A kernel feels but what is near; a larger receptive field takes more layers."},
           {"C54", "y_i = f(h_{i-1},x_{i})", "Recurrence."},
           {"C63", "y_i = f(x_{1},x_{2},...,x_{n})", "Self-attention."},
           {"C70",
            "卷积神经网络事实上只能获得局部信息，需要通过堆叠更多层数来增大感受野；循环神经网络"
            "需要通过递归获得全局信息，因此一般采用双向形式；自注意力机制能够直接获得全局信息。",
            "Convolution gets only what is near and has to be stacked; recurrence gets at all by "
            "recursion, and so as a rule in both directions; self-attention gets at all of it "
            "directly."}},
      .formula = "dy_i / dx_j ≠ 0 for |i - j| ≤ L (k - 1) / 2,   for j ≤ i,   for all j",
      .prediction =
          "L layers of convolution reach L (k - 1) / 2 tokens to each side, and not one "
          "more; a recurrence in one direction all that stood before, in two "
          "directions all; attention all, in one layer.",
      .findings = {},
      .figures = {}};
  const Tensor x = make_words(lab, 1);
  for (int64_t layers = 1; layers <= lab.integer("layers"); ++layers) {
    const Tensor found = influence(encoder(lab, 1, MixerKind::kConvolution, layers), x);
    section.findings.push_back(exact(
        absl::StrCat("reach of ", layers, layers > 1 ? " layers" : " layer", " of convolution"),
        static_cast<double>(std::min(layers * half, n - 1)), static_cast<double>(reach_of(found)),
        0));
  }
  const auto far = static_cast<double>(n - 1);
  for (const MixerKind kind : {MixerKind::kRecurrence, MixerKind::kAttention}) {
    const Tensor found = influence(encoder(lab, 1, kind, 1), x);
    section.findings.push_back(exact(absl::StrCat("reach of 1 layer of ", name_of(kind)), far,
                                     static_cast<double>(reach_of(found)), 0));
  }
  const ModelOptions recurrence = options_of(lab, MixerKind::kRecurrence);
  const Tensor one_way =
      influence(mixer_of(lab, make_mixer(lab, 1, recurrence, true), /*causal=*/true), x);
  section.findings.push_back(exact("recurrence, one direction: |dy_first / dx_last|", 0,
                                   one_way.to_vector()[static_cast<size_t>(n - 1)], 0));
  for (const MixerKind kind :
       {MixerKind::kConvolution, MixerKind::kRecurrence, MixerKind::kAttention}) {
    const Mixer mixer = make_mixer(lab, 1, options_of(lab, kind), false);
    section.figures.push_back(
        heat_map_of(absl::StrCat("|dy_i / dx_j|, ", std::string(mixer.name())),
                    influence(mixer_of(lab, mixer, false), x)));
  }
  return section;
}

// |dy_last / dx_j| over its largest, by the distance of j, of the mixer alone.
std::vector<double> by_distance(const Network& network, const Tensor& x) {
  const int64_t n = x.dim(0);
  std::vector<double> row = reshape(slice(influence(network, x), 0, n - 1, 1), {n}).to_vector();
  std::ranges::reverse(row);
  const double largest = *std::ranges::max_element(row);
  for (double& number : row) number /= largest;
  return row;
}

// What is left of the first token beside the last where the matrix of the state is the identity, of
// words so many times as large: where they are tiny tanh is a line. By seed.
std::vector<double> shares_kept_by_identity(const LabContext& lab, double times) {
  const int64_t d = lab.integer("d");
  std::vector<double> identity(static_cast<size_t>(d * d));
  for (int64_t i = 0; i < d; ++i) identity[static_cast<size_t>(i * (d + 1))] = 1;
  std::vector<double> shares;
  for (const uint64_t seed : lab.seeds()) {
    Mixer mixer = make_mixer(lab, seed, options_of(lab, MixerKind::kRecurrence, Cell::kRnn), true);
    std::get<Child<"recurrence", Recurrence>>(mixer.kind).forward.state_weight =
        constant_f64({d, d}, identity);
    const auto row = by_distance(mixer_of(lab, mixer, true), make_words(lab, seed) * times);
    shares.push_back(row.back() / row.front());
  }
  return shares;
}

// Less is left of the first token than of the last, though the matrix is the identity.
Finding forgets_with_identity(const LabContext& lab, const char* words, double times) {
  const std::vector<double> kept = shares_kept_by_identity(lab, times);
  return beyond(found(absl::StrCat("rnn with W = 1, ", words, ": first over last"), "below 0.9",
                      format_samples(kept), mean_of(kept) < 0.9));
}

Section decay_section(const LabContext& lab) {
  struct Kind {
    std::string name;
    MixerKind mixer;
    Cell cell;
    std::vector<double> nearest = {}, farthest = {}, first_seed = {};
  };
  std::vector<Kind> kinds = {{"rnn", MixerKind::kRecurrence, Cell::kRnn},
                             {"lstm", MixerKind::kRecurrence, Cell::kLstm},
                             {"attention", MixerKind::kAttention, Cell::kRnn}};
  LineChart chart = {.title = "|dy_last / dx_j|, over the largest",
                     .x_label = "distance",
                     .y_label = "influence",
                     .log_y = true};
  for (Kind& kind : kinds) {
    for (const uint64_t seed : lab.seeds()) {
      const Mixer mixer = make_mixer(lab, seed, options_of(lab, kind.mixer, kind.cell), true);
      const auto row = by_distance(mixer_of(lab, mixer, true), make_words(lab, seed));
      kind.nearest.push_back(row.front());
      kind.farthest.push_back(row.back());
      if (kind.first_seed.empty()) kind.first_seed = row;
    }
    chart.series.push_back(numbered_series(kind.name, kind.first_seed, 0));
  }
  const Kind &rnn = kinds[0], &lstm = kinds[1], &attention = kinds[2];
  return {.claims = {{"A41",
                      "前面的变量在经过多次RNN计算后,已经失去了原有的特征。越到后面,最前面的变量"
                      "占比就越小",
                      "After many steps of an RNN the variables at the front have lost what they "
                      "were: the further on, the smaller their share."},
                     {"C58",
                      "循环神经网络无法很好的学习到全局结构信息(尽管上图的双向结构一定程度上缓解了"
                      "这个问题)",
                      "Recurrence does not learn what is global well (two directions mend it in "
                      "part)."}},
          .formula = "dh_T / dh_t = Π diag(1 - h²) W",
          .prediction =
              "What is decided here is the recurrence. Each step multiplies by one more factor, so "
              "that "
              "the first token counts for less than the last; of attention it counts for as much.",
          .findings = {larger("rnn: influence of the last token, and of the first", rnn.nearest,
                              rnn.farthest),
                       larger("lstm: the same", lstm.nearest, lstm.farthest),
                       larger("of the first token: attention, and lstm", attention.farthest,
                              lstm.farthest),
                       near("attention: influence of the first", 1, attention.farthest, 0.1),
                       forgets_with_identity(lab, "x", 1), forgets_with_identity(lab, "0.1 x", 0.1),
                       forgets_with_identity(lab, "x / 10^6, so that tanh is a line", 1e-6)},
          .figures = {chart},
          .condition = "the matrix of the state makes it smaller, or tanh is saturated",
          .correction =
              "It is the matrix and tanh that forget, not the recurrence: with W = 1 and no "
              "saturation nothing is lost. Of words of size 1 tanh is saturated, and then the "
              "first is lost with W = 1, too."};
}

// What n keys get, times n, where all maps have the deviation `sigma`.
std::vector<double> shares_of(const LabContext& lab, uint64_t seed, int64_t d, double sigma) {
  const RandomStream random(seed);
  const Tensor x = random_normal(random.derive("x"), {lab.integer("tokens"), d});
  const Tensor q = matmul(x, random_normal(random.derive("W_q"), {d, d}) * sigma);
  const Tensor k = matmul(x, random_normal(random.derive("W_k"), {d, d}) * sigma);
  const double factor = 1 / std::sqrt(static_cast<double>(d));
  const Tensor weights = softmax(matmul(q, k, {.transpose_b = true}) * factor);
  return (weights * static_cast<double>(x.dim(0))).to_vector();
}

Section share_section(const LabContext& lab) {
  Section section = {
      .claims = {{"A41", "self-attention在每次计算中都能保证每个输入变量a aa的初始占比是一样的",
                  "Self-attention makes sure that each input has the same share to begin with."},
                 {"A45", "能够保证每个变量初始化占比是一样的",
                  "It can make sure that each variable has the same share at the start."}},
      .formula = "s = σ² d,   n p_ij = 1 ± √(exp(s²) - 1)",
      .prediction =
          "What is decided here is attention, before any training. Scores of maps with the "
          "deviation σ have the deviation s = σ² d, and shares are as equal as that is small: "
          "equal "
          "only where all scores are.",
      .findings = {},
      .condition = "the maps are small to begin with (0.02, as of GPT-2), and d is not large",
      .correction =
          "Nothing makes sure of it: shares are about equal only while scores are about "
          "0. Larger maps choose before they have learned anything."};
  for (const int64_t d : lab.integers("widths")) {
    const double s = 0.02 * 0.02 * static_cast<double>(d);
    std::vector<double> spread, largest, of_large_maps;
    for (const uint64_t seed : lab.seeds()) {
      const std::vector<double> shares = shares_of(lab, seed, d, 0.02);
      spread.push_back(deviation_of(shares));
      largest.push_back(*std::ranges::max_element(shares));
      of_large_maps.push_back(
          std::ranges::max(shares_of(lab, seed, d, 1 / std::sqrt(static_cast<double>(d)))));
    }
    section.findings.push_back(near(absl::StrCat("deviation of n p, σ = 0.02, d = ", d),
                                    std::sqrt(std::exp(s * s) - 1), spread, 0.1));
    const auto equal = [&](const char* sigma, const std::vector<double>& samples) {
      return found(absl::StrCat("largest n p, σ = ", sigma, ", d = ", d), "below 2",
                   format_samples(samples), mean_of(samples) < 2);
    };
    section.findings.push_back(equal("0.02", largest));
    section.findings.push_back(beyond(equal("1 / √d", of_large_maps)));
  }
  return section;
}

// Layers of a convolution with k taps, none after the token itself, until the last of n tokens
// hears of the first; where it is dilated the taps of layer l stand k^(l - 1) apart.
int64_t layers_between(int64_t n, int64_t k, bool is_dilated) {
  const Tensor x = as_parameter(ones({1, n, 1}, DType::f64));
  Tensor y = x;
  int64_t apart = 1;
  for (int64_t layers = 1;; ++layers) {
    const int64_t width = (k - 1) * apart + 1;
    std::vector<double> taps(static_cast<size_t>(width));
    for (int64_t i = 0; i < width; i += apart) taps[static_cast<size_t>(i)] = 1;
    y = depthwise_convolution(y, constant_f64({1, 1, width}, taps), Tensor(), width - 1);
    const Tensor back = backward(slice(y, 1, n - 1, 1), {.keep_graph = true})[x];
    if (back.to_vector().front() != 0) return layers;
    if (is_dilated) apart *= k;
  }
}

Section path_section(const LabContext& lab) {
  Section section = {
      .claims = {{"C80", "Convolutional: O(log_k(n))",
                  "The longest path through convolutions, from one token to another."},
                 {"C82", "Self-Attention: O(1)", "And through self-attention."}},
      .formula = "layers = log_k n",
      .prediction =
          "The last of n tokens hears of the first after log_k n layers of convolution, "
          "and one of attention.",
      .findings = {},
      .condition = "the taps of each layer stand k times as far apart as those before (dilated)",
      .correction =
          "Taps that stand side by side reach k - 1 tokens further with each layer: "
          "(n - 1) / (k - 1) layers."};
  const int64_t k = lab.integer("kernel");
  for (const int64_t power : {2, 3, 4}) {
    const auto n = static_cast<int64_t>(std::llround(std::pow(k, power)));
    const auto expect = [&](const char* form, bool is_dilated) {
      return exact(absl::StrCat(form, ": layers for n = ", n), static_cast<double>(power),
                   static_cast<double>(layers_between(n, k, is_dilated)), 0);
    };
    section.findings.push_back(expect("dilated", true));
    section.findings.push_back(beyond(expect("side by side", false)));
  }
  const Tensor one_layer = influence(encoder(lab, 1, MixerKind::kAttention, 1), make_words(lab, 1));
  section.findings.push_back(found(
      "attention: influence of the first on the last after 1 layer", "above 0",
      format_number(
          one_layer.to_vector()[static_cast<size_t>((lab.integer("n") - 1) * lab.integer("n"))]),
      reach_of(one_layer) == lab.integer("n") - 1));
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  return {reach_section(lab), decay_section(lab), share_section(lab), path_section(lab)};
}

}  // namespace

Lab influence_lab() {
  return {.name = "influence",
          .question = "Who sees whom, after one layer and after more?",
          .control = "attention sees one token to each side",
          .duration = "1 s",
          .options = {{"n", "16", "tokens of a network", 2, 64},
                      {"d", "8", "numbers of a token", 4, 32},
                      {"kernel", "3", "taps of the convolution", 3, 5, Numbers::kOdd},
                      {"layers", "4", "at most", 1, 16},
                      {"tokens", "64", "that share the attention at the start", 2, 512},
                      {"widths", "64,256", "numbers of a token there", 2, 512, Numbers::kWhole, 1,
                       kLongestList},
                      seeds_option("5", "networks and words")},
          .run = run};
}

}  // namespace qkv
