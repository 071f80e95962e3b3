// Who sees whom: |dy_i / dx_j| of attention, convolution and recurrence, by backward.
#include "apps/labs/kit.h"
#include "apps/labs/sections.h"
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

HeatMap map_of(const Text& title, const Tensor& influenced) {
  HeatMap map = heat_map_of(title, influenced);
  map.row_axis = say("output i");
  map.column_axis = say("input j");
  return map;
}

Section reach_section(const LabContext& lab) {
  const int64_t n = lab.integer("n"), half = (lab.integer("kernel") - 1) / 2;
  Section section = make_section("influence.reach");
  const Tensor x = make_words(lab, 1);
  for (int64_t layers = 1; layers <= lab.integer("layers"); ++layers) {
    section.add(equal(say("reach of {0} of convolution, in tokens", layers_text(layers)),
                      std::min(layers * half, n - 1),
                      reach_of(influence(encoder(lab, 1, "convolution", layers), x))));
  }
  const std::pair<const char*, Text> kinds[] = {
      {"recurrence", say("recurrence in both directions")}, {"attention", say("attention")}};
  for (const auto& [kind, name] : kinds) {
    section.add(equal(say("{0}, 1 layer: the same", name), n - 1,
                      reach_of(influence(encoder(lab, 1, kind, 1), x))));
  }
  const Mixer recurrence = make_mixer(lab, 1, options_of(lab, "recurrence"), true);
  const Tensor one_way = influence(mixer_of(lab, recurrence, /*causal=*/true), x);
  section.add(equal(say("recurrence in one direction: |dy_first / dx_last|"), 0,
                    one_way.to_vector()[static_cast<size_t>(n - 1)]));
  HeatMaps maps = {.title = say("Influence of j on i, over the largest of each")};
  const auto show = [&](const Text& title, const char* kind, bool causal) {
    const Mixer mixer = make_mixer(lab, 1, options_of(lab, kind), causal);
    const Tensor found = influence(mixer_of(lab, mixer, causal), x);
    maps.maps.push_back(map_of(title, found * (1 / largest_of(found))));
  };
  show(say("convolution"), "convolution", false);
  show(say("recurrence in one direction"), "recurrence", true);
  for (const auto& [kind, name] : kinds) show(name, kind, false);
  section.show(maps);
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
    std::get<NotedChild<"recurrence", Recurrence>>(mixer.kind).forward.state_weight =
        identity(lab.integer("d"));
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
  // One, but for what x² and rounding do.
  constexpr double kKept = 1 - 1e-6;
  const auto kept = [&](double times) { return shares_kept_by_identity(lab, times); };
  return make_section(
      "influence.decay",
      {larger(say("RNN: influence of the last token, and of the first"), rnn.nearest(),
              rnn.farthest()),
       larger(say("LSTM: influence of the last token, and of the first"), lstm.nearest(),
              lstm.farthest()),
       larger(say("influence of the first token: of attention, and of an LSTM"),
              attention.farthest(), lstm.farthest()),
       named("saturated", below(say("RNN with W = 1, words of size 1: the first over the last"),
                                kKept, kept(1))),
       beyond(named("line", below(say("the same, words of size 10⁻⁶, of which tanh is a line"),
                                  kKept, kept(1e-6))))},
      {chart});
}

// The influence of the last token on the first, in an LSTM, and how much that is of its influence
// on the one before it.
Section both_ways_section(const LabContext& lab) {
  struct Heard {
    double influence, share;
  };
  const auto heard = [&](bool causal) {
    return over_seeds(lab, [&](uint64_t seed) {
      const Mixer mixer = make_mixer(lab, seed, options_of(lab, "recurrence"), causal);
      const Samples all =
          influence(mixer_of(lab, mixer, causal), make_words(lab, seed)).to_vector();
      const auto n = static_cast<size_t>(lab.integer("n"));
      return Heard{.influence = all[n - 1], .share = all[n - 1] / all[(n - 1) * n - 1]};
    });
  };
  const auto one = heard(true), two = lab.breaks("one-way") ? one : heard(false);
  return make_section(
      "influence.both-ways",
      {equal(say("one direction: influence of the last token on the first, the most of all seeds"),
             0, most_of(values_of(one, &Heard::influence))),
       above(say("two directions: the same, the least of all seeds"), 0,
             least_of(values_of(two, &Heard::influence))),
       below(say("two directions: the same, over the influence on the token before the last"), 1,
             values_of(two, &Heard::share))});
}

Section steps_section(const LabContext& lab) {
  const int64_t n = lab.integer("n");
  const Tensor one = influence(encoder(lab, 1, "attention", 1), make_words(lab, 1));
  return make_section(
      "influence.steps",
      {equal(say("RNN: states that all the last of {0} tokens hears of the first must pass", n),
             n - 1, states_between(n)),
       above(say("attention, 1 layer: influence of the first token on the last"), 0,
             one.to_vector()[static_cast<size_t>((n - 1) * n)])});
}

std::vector<Section> run(const LabContext& lab) {
  return {reach_section(lab),     stacked_section(lab), local_section(lab), decay_section(lab),
          both_ways_section(lab), share_section(lab),   path_section(lab),  steps_section(lab)};
}

}  // namespace

Lab influence_lab() { return make_lab("influence", run); }

}  // namespace qkv
