// Who sees whom: |dy_i / dx_j| of attention, convolution and recurrence, by backward.
#include "apps/labs/kit/lab_kit.h"
#include "models/mixer_kind.h"

namespace qkv {
namespace {

// The shares of n keys, times n, where all maps have the deviation `sigma`.
std::vector<double> shares_of(const LabContext& lab, uint64_t seed, int64_t d, double sigma) {
  const RandomStream random(seed);
  const Tensor x = random_normal(random, "x", {lab.integer("tokens"), d});
  const Tensor q = matmul(x, random_normal(random, "W_q", {d, d}) * sigma);
  const Tensor k = matmul(x, random_normal(random, "W_k", {d, d}) * sigma);
  const double factor = 1 / std::sqrt(static_cast<double>(d));
  const Tensor weights = softmax(products_of_rows(q, k) * factor);
  return (weights * static_cast<double>(x.dim(0))).to_vector();
}

// The keys of one query, the largest first.
Series sorted_shares(const LabContext& lab, const Text& name, Samples shares) {
  shares.resize(static_cast<size_t>(lab.integer("tokens")));
  std::ranges::sort(shares, std::greater());
  return numbered_series(name, shares);
}

Section share_section(const LabContext& lab) {
  LineChart chart = line_chart(say("What one query gives each key, times n, first seed"),
                               say("keys, by their shares"), log_axis("n p"));
  chart.levels = {{say("equal shares"), 1}};
  Section section = make_section("influence.share");
  for (const int64_t d : lab.integers("widths")) {
    const double small = 0.02, large = 1 / std::sqrt(static_cast<double>(d));
    const double s = small * small * static_cast<double>(d);
    const auto shares_by = [&](double sigma) {
      return over_seeds(lab, [&](uint64_t seed) { return shares_of(lab, seed, d, sigma); });
    };
    // In its control the small maps are as large as the others.
    const auto of_small = shares_by(lab.breaks("large") ? large : small);
    section.add(near(say("deviation of n p, σ = 0.02, d = {0}", d), std::sqrt(std::exp(s * s) - 1),
                     values_of(of_small, deviation_of), 0.1));
    section.add(
        below(say("largest n p, σ = {0}, d = {1}", small, d), 2, values_of(of_small, most_of)));
    const auto of_large = shares_by(large);
    const Finding by_large = beyond(
        below(say("largest n p, σ = {0}, d = {1}", "1 / √d", d), 2, values_of(of_large, most_of)));
    section.add(d == lab.integers("widths").back() ? named("large", by_large) : by_large);
    for (const auto& [sigma, all] : {std::pair("0.02", of_small), std::pair("1 / √d", of_large)}) {
      chart.series.push_back(sorted_shares(lab, say("σ = {0}, d = {1}", sigma, d), all[0]));
    }
  }
  section.show(chart);
  add_map(section, "map",
          {.title = say("No key gets twice its equal share"),
           .x_name = "σ",
           .y_name = "d",
           .x = {0.02, 0.04, 0.08, 0.16},
           .y = {16, 64, 256},
           .at = [&](double sigma, double d) {
             return below("", 2, over_seeds(lab, [&](uint64_t seed) {
                            return most_of(shares_of(lab, seed, std::llround(d), sigma));
                          }));
           }});
  return section;
}

// A layer of convolution with k taps around the token itself, `apart` tokens from each other.
Tensor convolved(const Tensor& x, int64_t k, int64_t apart) {
  const int64_t width = (k - 1) * apart + 1;
  std::vector<double> taps(static_cast<size_t>(width));
  for (int64_t i = 0; i < width; i += apart) taps[static_cast<size_t>(i)] = 1;
  return depthwise_convolution(x, constant_f64({1, 1, width}, taps), Tensor(), width / 2);
}

// How far the first of n tokens sees through `layers` layers of convolution. The taps of layer l,
// from 0 on, stand k^(l mod `cycle`) apart: with a cycle of 1 side by side.
int64_t reach_through(int64_t n, int64_t k, int64_t layers, int64_t cycle = 1) {
  const Tensor x = as_parameter(ones({1, n, 1}, DType::f64));
  Tensor y = x;
  for (int64_t layer = 0; layer < layers; ++layer) {
    y = convolved(y, k, std::llround(std::pow(k, layer % cycle)));
  }
  const Samples back = backward(slice(y, 1, 0, 1))[x].to_vector();
  const auto last =
      std::ranges::find_if(back.rbegin(), back.rend(), [](double g) { return g != 0; });
  return back.rend() - last - 1;
}

double reach_through(const LabContext& lab, int64_t layers, int64_t cycle = 1) {
  return static_cast<double>(reach_through(lab.integer("n"), lab.integer("kernel"), layers, cycle));
}

int64_t layers_enough(const LabContext& lab) {
  const int64_t half = (lab.integer("kernel") - 1) / 2;
  return lab.breaks("flat") ? 1 : (lab.integer("n") - 2) / half + 1;
}

// "1 layer", "3 layers"
Text layers_text(int64_t layers) {
  return layers == 1 ? say("1 layer") : say("{0} layers", layers);
}

Section stacked_section(const LabContext& lab) {
  const int64_t enough = layers_enough(lab);
  const auto far = static_cast<double>(lab.integer("n") - 1);
  Section section = make_section(
      "influence.stacked",
      {named("stacked", at_least(say("reach of {0} of convolution, in tokens", layers_text(enough)),
                                 far, reach_through(lab, enough))),
       beyond(named("one", at_least(say("reach of {0} of convolution, in tokens", layers_text(1)),
                                    far, reach_through(lab, 1))))});
  add_map(section, "map",
          {.title =
               say("L layers whose taps reach r tokens to each side see all {0}", lab.integer("n")),
           .x_name = "L",
           .y_name = "r",
           .x = {1, 3, 5, 15},
           .y = {1, 3, 5, 15},
           .at = [&](double layers, double side) {
             return at_least(
                 "", far,
                 static_cast<double>(reach_through(lab.integer("n"), std::llround(2 * side + 1),
                                                   std::llround(layers))));
           }});
  return section;
}

// In its control the one layer is as many as reach all.
Section local_section(const LabContext& lab) {
  const int64_t enough = layers_enough(lab), one = lab.breaks("deep") ? enough : 1;
  const int64_t side = (lab.integer("kernel") - 1) / 2;
  const auto half = static_cast<double>(side);
  return make_section(
      "influence.local",
      {at_most(say("reach of {0} of convolution, in tokens", layers_text(1)), half,
               reach_through(lab, one)),
       above(say("reach of {0} of convolution, in tokens", layers_text(enough)), half,
             reach_through(lab, enough)),
       beyond(named("dilated", at_most(say("reach of {0}, their taps apart, beside side by side",
                                           layers_text(2)),
                                       reach_through(lab, 2), reach_through(lab, 2, 2))))});
}

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

HeatMaps who_sees_whom(const LabContext& lab) {
  HeatMaps maps = {.title = say("Influence of j on i, over the largest of each")};
  const auto show = [&](const Text& title, const char* kind, bool causal) {
    const Mixer mixer = make_mixer(lab, 1, options_of(lab, kind), causal);
    const Tensor found = influence(mixer_of(lab, mixer, causal), make_words(lab, 1));
    maps.maps.push_back(map_of_inputs(title, found * (1 / largest_of(found))));
  };
  show(say("convolution"), "convolution", false);
  show(say("recurrence in one direction"), "recurrence", true);
  show(say("recurrence in both directions"), "recurrence", false);
  show(say("attention"), "attention", false);
  return maps;
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

// The share of the first token beside the last where the matrix of the state is w · 1, with words
// `times` as large: where they are tiny, tanh is linear. By seed.
Samples shares_kept(const LabContext& lab, double w, double times) {
  return over_seeds(lab, [&](uint64_t seed) {
    Mixer mixer = make_mixer(lab, seed, options_of(lab, "recurrence", Cell::kRnn), true);
    std::get<NotedChild<"recurrence", Recurrence>>(mixer.kind).forward.state_weight =
        identity(lab.integer("d")) * w;
    const auto row = by_distance(mixer_of(lab, mixer, true), make_words(lab, seed) * times);
    return row.back() / row.front();
  });
}

Section decay_section(const LabContext& lab) {
  struct Kind {
    Text name;
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
  std::vector<Kind> kinds = {{"RNN", "recurrence", Cell::kRnn},
                             {"LSTM", "recurrence", Cell::kLstm},
                             {say("attention"), "attention", Cell::kRnn}};
  for (Kind& kind : kinds) {
    kind.rows = over_seeds(lab, [&](uint64_t seed) {
      const Mixer mixer = make_mixer(lab, seed, options_of(lab, kind.mixer, kind.cell), true);
      return by_distance(mixer_of(lab, mixer, true), make_words(lab, seed));
    });
  }
  const LineChart chart = line_chart(
      say("Influence on the last token, over the largest, first seed"), say("tokens before it"),
      log_axis(say("influence")),
      each_of(kinds, [](const Kind& kind) { return numbered_series(kind.name, kind.rows[0], 0); }));
  const Kind &rnn = kinds[0], &lstm = kinds[1], &attention = kinds[2];
  constexpr double kKept = 0.9;  // what counts for less is forgotten
  const auto kept = [&](double times) { return shares_kept(lab, 1, times); };
  Section section = make_section(
      "influence.decay",
      {larger(say("RNN: influence of the last token, and of the first"), rnn.nearest(),
              rnn.farthest()),
       larger(say("LSTM: influence of the last token, and of the first"), lstm.nearest(),
              lstm.farthest()),
       larger(say("influence of the first token: of attention, and of an LSTM"),
              attention.farthest(), lstm.farthest()),
       named("saturated", below(say("RNN with W = 1, words of size 1: the first over the last"),
                                kKept, kept(1))),
       beyond(named("line", below(say("the same, words of size 10⁻⁶, where tanh is linear"), kKept,
                                  kept(1e-6))))},
      {who_sees_whom(lab), chart});
  add_map(
      section, "map",
      {.title = say(
           "The first token counts for less than 0.9 of the last: state times w, words of size a"),
       .x_name = "w",
       .y_name = "a",
       .x = {0.5, 0.9, 1, 1.1, 1.5},
       .y = {0.001, 0.01, 0.1, 1},
       .at = [&](double w, double a) { return below("", kKept, shares_kept(lab, w, a)); }});
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  return {stacked_section(lab), local_section(lab), decay_section(lab), share_section(lab)};
}

}  // namespace

Lab influence_lab() { return make_lab("influence", run); }

}  // namespace qkv
