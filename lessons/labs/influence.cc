// Who sees whom: |dy_i / dx_j| of attention, convolution and recurrence, by backward.
#include "lessons/labs/kit.h"
#include "models/mixer.h"
#include "models/stack.h"

namespace qkv {
namespace {

using Network = std::function<Tensor(const Tensor& x)>;  // [B, T, C] -> [B, T, C]

// |dy_i / dx_j| for all i and j at once: T C copies of x, and for each another number of y whose
// gradient is taken.   x [T, C] -> [T, T]
Tensor influence(const Network& network, const Tensor& x) {
  const int64_t n = x.dim(0), d = x.dim(1), copies = n * d;
  const Tensor batch = as_parameter(broadcast_to(reshape(x, {1, n, d}), {copies, n, d}));
  const Tensor pushed = reshape(identity(copies), {copies, n, d});
  const Tensor back = backward(network(batch), {.cotangent = pushed})[batch];
  return sqrt(sum(sum(reshape(back * back, {n, d, n, d}), 3), 1));
}

Tensor make_words(const LabContext& lab, uint64_t seed) {
  return random_normal(RandomStream(seed), "x", {lab.integer("n"), lab.integer("d")});
}

ModelOptions options_of(const LabContext& lab, const std::string& mixer, Cell cell = Cell::kLstm) {
  return {.d_model = lab.integer("d"),
          .mixer = mixer,
          .num_heads = 1,
          .d_ff = lab.integer("d"),
          .position = Position::kNone,
          .kernel = lab.integer("kernel"),
          .cell = cell};
}

// Whole blocks, as in an encoder.
Network encoder(const LabContext& lab, uint64_t seed, const std::string& mixer, int64_t layers) {
  ModelOptions options = options_of(lab, mixer);
  options.num_layers = layers;
  options.attention.window = lab.is_control() && mixer == "attention" ? 1 : 0;
  Initializer init(RandomStream(seed), DType::f64);
  const Stack stack(init, options, Stack::Role::kEncoder, lab.integer("n"));
  return [stack](const Tensor& x) { return run_module(stack, x, Tensor()); };
}

// A mixer alone: what it does itself, without the residual stream around it.
Network mixer_of(const LabContext& lab, const Mixer& mixer, bool causal) {
  const int64_t window = lab.is_control() && mixer.name() == "attention" ? 2 : 0;
  const AttentionMask mask = {.causal = causal, .window = window};
  return [mixer, mask](const Tensor& x) { return run_module(mixer, x, mask); };
}

Mixer make_mixer(const LabContext& lab, uint64_t seed, const ModelOptions& options, bool causal) {
  Initializer init(RandomStream(seed), DType::f64);
  const double deviation = 1 / std::sqrt(static_cast<double>(options.d_model));
  return make_mixer(init, options, {lab.integer("n"), causal, deviation});
}

Section reach_section(const LabContext& lab) {
  const int64_t n = lab.integer("n"), half = (lab.integer("kernel") - 1) / 2;
  Section section = make_section("influence.reach");
  const Tensor x = make_words(lab, 1);
  for (int64_t layers = 1; layers <= lab.integer("layers"); ++layers) {
    const Tensor found = influence(encoder(lab, 1, "convolution", layers), x);
    section.add(equal(
        absl::StrCat("reach of ", layers, layers > 1 ? " layers" : " layer", " of convolution"),
        std::min(layers * half, n - 1), reach_of(found)));
  }
  for (const char* kind : {"recurrence", "attention"}) {
    section.add(equal(absl::StrCat("reach of 1 layer of ", kind), n - 1,
                      reach_of(influence(encoder(lab, 1, kind, 1), x))));
  }
  const Mixer recurrence = make_mixer(lab, 1, options_of(lab, "recurrence"), true);
  const Tensor one_way = influence(mixer_of(lab, recurrence, /*causal=*/true), x);
  section.add(equal("recurrence, one direction: |dy_first / dx_last|", 0,
                    one_way.to_vector()[static_cast<size_t>(n - 1)]));
  for (const char* kind : {"convolution", "recurrence", "attention"}) {
    const Mixer mixer = make_mixer(lab, 1, options_of(lab, kind), false);
    section.show(heat_map_of(absl::StrCat("|dy_i / dx_j|, ", std::string(mixer.name())),
                             influence(mixer_of(lab, mixer, false), x)));
  }
  return section;
}

// |dy_last / dx_j| over its largest, by the distance of j, of the mixer alone.
std::vector<double> by_distance(const Network& network, const Tensor& x) {
  const int64_t n = x.dim(0);
  Samples row = reshape(slice(influence(network, x), 0, n - 1, 1), {n}).to_vector();
  std::ranges::reverse(row);
  const double largest = most_of(row);
  for (double& number : row) number /= largest;
  return row;
}

// What is left of the first token beside the last where the matrix of the state is the identity, of
// words so many times as large: where they are tiny tanh is a line. By seed.
Samples shares_kept_by_identity(const LabContext& lab, double times) {
  return over_seeds(lab, [&](uint64_t seed) {
    Mixer mixer = make_mixer(lab, seed, options_of(lab, "recurrence", Cell::kRnn), true);
    std::get<Child<"recurrence", Recurrence>>(mixer.kind).forward.state_weight =
        identity(lab.integer("d"));
    const auto row = by_distance(mixer_of(lab, mixer, true), make_words(lab, seed) * times);
    return row.back() / row.front();
  });
}

// Less is left of the first token than of the last, though the matrix is the identity.
Finding forgets_with_identity(const LabContext& lab, const char* words, double times) {
  return beyond(below(absl::StrCat("rnn with W = 1, ", words, ": first over last"), 0.9,
                      shares_kept_by_identity(lab, times)));
}

Section decay_section(const LabContext& lab) {
  struct Kind {
    std::string name;
    std::string mixer;
    Cell cell;
    std::vector<Samples> rows = {};  // by seed

    Samples nearest() const {
      return values_of(rows, [](const Samples& row) { return row[0]; });
    }
    Samples farthest() const {
      return values_of(rows, [](const Samples& row) { return row.back(); });
    }
  };
  std::vector<Kind> kinds = {{"rnn", "recurrence", Cell::kRnn},
                             {"lstm", "recurrence", Cell::kLstm},
                             {"attention", "attention", Cell::kRnn}};
  for (Kind& kind : kinds) {
    kind.rows = over_seeds(lab, [&](uint64_t seed) {
      const Mixer mixer = make_mixer(lab, seed, options_of(lab, kind.mixer, kind.cell), true);
      return by_distance(mixer_of(lab, mixer, true), make_words(lab, seed));
    });
  }
  const LineChart chart = line_chart(
      "|dy_last / dx_j|, over the largest", "distance", log_axis("influence"),
      each_of(kinds, [](const Kind& kind) { return numbered_series(kind.name, kind.rows[0], 0); }));
  const Kind &rnn = kinds[0], &lstm = kinds[1], &attention = kinds[2];
  return make_section(
      "influence.decay",
      {larger("rnn: influence of the last token, and of the first", rnn.nearest(), rnn.farthest()),
       larger("lstm: the same", lstm.nearest(), lstm.farthest()),
       larger("of the first token: attention, and lstm", attention.farthest(), lstm.farthest()),
       near("attention: influence of the first", 1, attention.farthest(), 0.1),
       forgets_with_identity(lab, "x", 1), forgets_with_identity(lab, "0.1 x", 0.1),
       forgets_with_identity(lab, "x / 10^6, so that tanh is a line", 1e-6)},
      {chart});
}

// What n keys get, times n, where all maps have the deviation `sigma`.
std::vector<double> shares_of(const LabContext& lab, uint64_t seed, int64_t d, double sigma) {
  const RandomStream random(seed);
  const Tensor x = random_normal(random, "x", {lab.integer("tokens"), d});
  const Tensor q = matmul(x, random_normal(random, "W_q", {d, d}) * sigma);
  const Tensor k = matmul(x, random_normal(random, "W_k", {d, d}) * sigma);
  const double factor = 1 / std::sqrt(static_cast<double>(d));
  const Tensor weights = softmax(products_of_rows(q, k) * factor);
  return (weights * static_cast<double>(x.dim(0))).to_vector();
}

Section share_section(const LabContext& lab) {
  Section section = make_section("influence.share");
  for (const int64_t d : lab.integers("widths")) {
    const double s = 0.02 * 0.02 * static_cast<double>(d);
    const auto shares_by = [&](double sigma) {
      return over_seeds(lab, [&](uint64_t seed) { return shares_of(lab, seed, d, sigma); });
    };
    const auto small = shares_by(0.02), large = shares_by(1 / std::sqrt(static_cast<double>(d)));
    section.add(near(absl::StrCat("deviation of n p, σ = 0.02, d = ", d),
                     std::sqrt(std::exp(s * s) - 1), values_of(small, deviation_of), 0.1));
    const auto equal = [&](const char* sigma, const Samples& samples) {
      return below(absl::StrCat("largest n p, σ = ", sigma, ", d = ", d), 2, samples);
    };
    section.add(equal("0.02", values_of(small, most_of)));
    section.add(beyond(equal("1 / √d", values_of(large, most_of))));
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
  Section section = make_section("influence.path");
  const int64_t k = lab.integer("kernel");
  for (const int64_t power : {2, 3, 4}) {
    const auto n = static_cast<int64_t>(std::llround(std::pow(k, power)));
    const auto expect = [&](const char* form, bool is_dilated) {
      return equal(absl::StrCat(form, ": layers for n = ", n), power,
                   layers_between(n, k, is_dilated));
    };
    section.add(expect("dilated", true));
    section.add(beyond(expect("side by side", false)));
  }
  const int64_t n = lab.integer("n");
  const Tensor one = influence(encoder(lab, 1, "attention", 1), make_words(lab, 1));
  section.add(found("attention: influence of the first on the last after 1 layer", "above 0",
                    one.to_vector()[static_cast<size_t>((n - 1) * n)], reach_of(one) == n - 1));
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  return {reach_section(lab), decay_section(lab), share_section(lab), path_section(lab)};
}

}  // namespace

Lab influence_lab() { return make_lab("influence", run); }

}  // namespace qkv
