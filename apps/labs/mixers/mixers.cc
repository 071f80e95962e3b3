// Weights that are set by hand, that are learned, that are computed from the input.
#include <optional>

#include "apps/labs/kit/lab_kit.h"
#include "framework/nn/layers.h"
#include "models/mixer_kind.h"

namespace qkv {
namespace {

// A question that only what chooses can answer: of a sentence one token is marked, every time
// another, and its number is asked for.

using AttentionLayer = NotedChild<"attention", MultiHeadAttention>;
using LearnedLayer = NotedChild<"learned", LearnedMixing>;

// A bidirectional one. In the main control the scores of attention are all 0.
Mixer make_layer(const LabContext& lab, const std::string& kind, const RandomStream& random) {
  const ModelOptions options = {.d_model = lab.integer("d"), .mixer = kind, .num_heads = 1};
  Initializer init(random, DType::f64);
  Mixer mixer = make_mixer(
      init, options, {.max_length = lab.integer("n"), .causal = false, .residual_deviation = 0.5});
  auto* const layer = std::get_if<AttentionLayer>(&mixer.kind);
  if (lab.is_control() && layer) layer->scale = 0;
  return mixer;
}

// A layer that is to find the marked token.
struct Finder {
  std::string mixer;           // as in model.mixer
  std::string below = {};      // the mixer under it; "": none
  bool bends = false;          // a ReLU stands between the two
  bool is_asked_from = false;  // its queries come from another sequence
};

// The results of a trained finder.
struct Found {
  double left;       // the share of the answers' variance
  double moved = 0;  // the same, with the weights of attention moved half a sentence on
  std::optional<Tensor> weights = {};  // of attention, for the sentences of the last test
  Tensor places = {};                  // where the marked token stands in them, [B]
};

// Sentences in which one token is marked (its first number); the answer is its second.
struct Question {
  Tensor x;       // [B, T, C]
  Tensor other;   // [B, T, C]: tokens that say nothing of x
  Tensor places;  // [B]
  Tensor target;  // [B, T, 1]
};

Question ask(const LabContext& lab, const RandomStream& random) {
  constexpr int64_t kBatch = 32;
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  const Tensor x = random_normal(random, "x", {kBatch, n, d});
  const Tensor places = random_tokens(random, {kBatch}, n);
  const Tensor marked = reshape(one_hot(places, n, DType::f64), {kBatch, n, 1});
  const Tensor second = slice(x, 2, 1, 1);
  return {.x = concat({marked * 3.0, slice(x, 2, 1, d - 1)}, 2),
          .other = random_normal(random, "other", {kBatch, n, d}),
          .places = places,
          .target = broadcast_to(sum(second * marked, 1, true), {kBatch, n, 1})};
}

struct Network {
  Finder finder;
  std::optional<Mixer> below;
  Mixer mixer;
  Child<"head", Linear> head;  // C -> 1

  void visit(Visitor& v) {
    if (below) v.child("below", *below);
    v.child("mixer", mixer);
    v.child(head);
  }

  // The input of the upper mixer.
  Tensor read(const Tensor& x) const {
    if (!below) return x;
    const Tensor y = run_module(*below, x, AttentionMask{});
    return finder.bends ? relu(y) : y;
  }
  const AttentionLayer* attention() const { return std::get_if<AttentionLayer>(&mixer.kind); }
};

Network make_network(const LabContext& lab, const Finder& finder, uint64_t seed) {
  const RandomStream random(seed);
  Initializer init(random.derive("head"), DType::f64);
  Network network = {.finder = finder,
                     .below = {},
                     .mixer = make_layer(lab, finder.mixer, random),
                     .head = Linear(init, lab.integer("d"), 1, true, 0.5)};
  if (!finder.below.empty()) network.below = make_layer(lab, finder.below, random.derive("below"));
  return network;
}

Tensor answer(const Network& network, const Question& question) {
  const Tensor x = network.read(question.x);
  if (!network.finder.is_asked_from) {
    return network.head(run_module(network.mixer, x, AttentionMask{}));
  }
  return network.head(run_module(*network.attention(), question.other, x, AttentionMask{}));
}

// The answer where each token gets the weight of the token half a sentence before it.
Tensor answer_moved(const Network& network, const Tensor& x, const Trace& trace) {
  const Tensor weights = trace["attention.weights"];  // [B, 1, T, T]
  const int64_t n = x.dim(1), half = n / 2;
  const Tensor moved =
      concat({slice(weights, 3, n - half, half), slice(weights, 3, 0, n - half)}, 3);
  const Tensor mixed =
      matmul(reshape(moved, {x.dim(0), n, n}), reshape(trace["attention.v"], x.shape()));
  return network.head(network.attention()->output(mixed));
}

double share_left(const Tensor& answered, const Tensor& target) {
  const Tensor error = answered - target;
  return mean(error * error).item() / mean(target * target).item();
}

Found test(const LabContext& lab, const Network& network, const RandomStream& random) {
  Found found = {.left = 0};
  constexpr uint64_t kTests = 10;
  for (uint64_t i = 0; i < kTests; ++i) {
    const Question question = ask(lab, random.derive(i));
    found.left += share_left(answer(network, question), question.target) / kTests;
    if (!network.attention() || network.finder.is_asked_from) continue;
    const Tensor x = network.read(question.x);
    const Trace trace = trace_module(*network.attention(), x, AttentionMask{}).trace;
    found.moved += share_left(answer_moved(network, x, trace), question.target) / kTests;
    found.weights = trace["attention.weights"];
    found.places = question.places;
  }
  return found;
}

Found train(const LabContext& lab, const Finder& finder, uint64_t seed) {
  const Network network = make_network(lab, finder, seed);
  const RandomStream random = RandomStream(seed).derive("questions");
  train_with_adam(parameters(network), lab.integer("steps"), [&](uint64_t step) {
    const Question question = ask(lab, random.derive(step));
    const Tensor error = answer(network, question) - question.target;
    return mean(error * error);
  });
  return test(lab, network, random.derive("test"));
}

// A training for each seed of the lab, by its options n, d and steps.
std::vector<Found> find_marked(const LabContext& lab, const Finder& finder) {
  return over_seeds(lab, [&](uint64_t seed) {
    lab.say(absl::StrCat(lab.lab().name, ": ", finder.below, finder.below.empty() ? "" : " + ",
                         finder.mixer, ", seed ", seed));
    return train(lab, finder, seed);
  });
}

Samples left_of(const std::vector<Found>& all) { return values_of(all, &Found::left); }
Samples moved_of(const std::vector<Found>& all) { return values_of(all, &Found::moved); }

// A model that leaves more of the answers' variance has not learned to find the marked token.
constexpr double kLearned = 0.1;

// With scores as if they had been learned: a new table is uniform.
Mixer make_learned(const LabContext& lab) {
  const RandomStream random(1);
  Mixer mixer = make_layer(lab, "learned", random);
  Tensor& scores = std::get<LearnedLayer>(mixer.kind).scores;
  scores = as_parameter(random_normal(random, "scores", scores.shape()));
  return mixer;
}

Tensor make_words(const LabContext& lab, uint64_t seed, const char* name) {
  return random_normal(RandomStream(seed), name, {1, lab.integer("n"), lab.integer("d")});
}

// The weights with which the tokens are mixed.
Tensor weights_of(const Mixer& mixer, const Tensor& x) {
  const Trace trace = trace_module(mixer, x, AttentionMask{}).trace;
  return trace[absl::StrCat(std::string(mixer.name()), ".weights")];
}

Tensor weights_between(const AttentionLayer& layer, const Tensor& x, const Tensor& source) {
  return trace_module(layer, x, source, AttentionMask{}).trace["attention.weights"];
}

Section inputs_section(const LabContext& lab) {
  // The words are large, so that scores of new maps differ as those of trained ones do.
  const auto words = [&](uint64_t seed, const char* name) {
    return make_words(lab, seed, name) * 20.0;
  };
  const auto layer_of = [&](uint64_t seed) {
    return make_layer(lab, "attention", RandomStream(seed));
  };
  const Samples of_self = over_seeds(lab, [&](uint64_t seed) {
    const Mixer mixer = layer_of(seed);
    return largest_difference(weights_of(mixer, words(seed, "a")),
                              weights_of(mixer, words(seed, "b")));
  });
  const Samples between = over_seeds(lab, [&](uint64_t seed) {
    const Mixer mixer = layer_of(seed);
    const auto& layer = std::get<AttentionLayer>(mixer.kind);
    const Tensor x = words(seed, "c");
    return largest_difference(weights_between(layer, x, words(seed, "a")),
                              weights_between(layer, x, words(seed, "b")));
  });
  const Mixer learned = make_learned(lab), attend = layer_of(1);
  const Tensor a = words(1, "a"), b = words(1, "b");
  const HeatMaps maps = {
      .title = say("The weights for two inputs"),
      .maps = {map_of_inputs(say("learned table, input a"), weights_of(learned, a)),
               map_of_inputs(say("learned table, input b"), weights_of(learned, b)),
               map_of_inputs(say("self-attention, input a"), weights_of(attend, a)),
               map_of_inputs(say("self-attention, input b"), weights_of(attend, b))}};
  return make_section(
      "mixers.inputs",
      {equal(say("learned table: largest change with the input"), 0,
             largest_difference(weights_of(learned, a), weights_of(learned, b))),
       above(say("self-attention: largest change with the input"), 0, of_self),
       beyond(named("between",
                    at_most(say("attention to another sequence: largest change"), 0, between)))},
      {maps});
}

// Which share of the answers' variance the models find, and which they miss.
Bars bars_of(const std::vector<std::pair<Text, Samples>>& models) {
  Bars bars = {.title = say("The variance of the answers, mean over the seeds"),
               .parts = {say("found"), say("missed")}};
  for (const auto& [name, left] : models) {
    const double missed = std::min(1.0, mean_of(left));
    bars.bars.push_back(name);
    bars.shares.push_back({1 - missed, missed});
  }
  return bars;
}

struct Arms {
  std::vector<Found> set, self, between, convolution, lstm, over_states, states_set;
};

// In their control neither a ReLU nor a gate is left: of both remains a convolution.
Finder cnn_of(const LabContext& lab) {
  return {.mixer = "uniform", .below = "convolution", .bends = !lab.breaks("linear")};
}

Arms train_all(const LabContext& lab) {
  return {
      .set = find_marked(lab, {.mixer = "uniform"}),
      .self = find_marked(lab, {.mixer = "attention"}),
      .between = find_marked(lab, {.mixer = "attention", .is_asked_from = true}),
      .convolution = find_marked(lab, cnn_of(lab)),
      .lstm = find_marked(lab, lab.breaks("linear") ? cnn_of(lab) : Finder{.mixer = "recurrence"}),
      .over_states = find_marked(lab, {.mixer = "attention", .below = "recurrence"}),
      .states_set = find_marked(lab, {.mixer = "uniform", .below = "recurrence"})};
}

Finding has_learned(const Text& model, const std::vector<Found>& all) {
  return premise(
      at_most(say("{0}: share of the variance that is left", model), kLearned, left_of(all)));
}

Section assigned_section(const Arms& arms) {
  const Samples set = left_of(arms.set), between = left_of(arms.between);
  return make_section(
      "mixers.assigned",
      {has_learned(say("self-attention"), arms.self),
       named("between", alike(say("variance left: attention to another sequence, and weights that "
                                  "are set"),
                              between, set, kLearned))},
      {bars_of({{say("set: all equal"), set},
                {say("attention to another sequence"), between},
                {say("self-attention"), left_of(arms.self)}})});
}

// Models that decide by a bend or by gates, beside attention.
Section old_section(const LabContext& lab, const Arms& arms) {
  const Samples set = left_of(arms.set), cnn = left_of(arms.convolution), lstm = left_of(arms.lstm),
                self = left_of(arms.self);
  Section section = make_section(
      "mixers.old",
      {has_learned(say("self-attention"), arms.self),
       larger(say("variance left: a CNN, and self-attention"), cnn, self),
       larger(say("variance left: an LSTM, and self-attention"), lstm, self),
       beyond(named("cnn", alike(say("variance left: a CNN, and a mean, which cannot choose"), cnn,
                                 set, kLearned))),
       beyond(named("lstm", alike(say("an LSTM, and a mean"), lstm, set, kLearned)))},
      {bars_of({{say("mean"), set}, {"CNN", cnn}, {"LSTM", lstm}, {say("self-attention"), self}})});
  add_map(section, "map",
          {.title = say("A CNN has not learned to choose one of n tokens"),
           .x_name = say("steps"),
           .y_name = "n",
           .x = {50, 100, 200, 400},
           .y = {4, 8, 16},
           .at = [&](double steps, double n) {
             const LabContext there = lab.with("steps", steps).with("n", n);
             return above("", kLearned, left_of(find_marked(there, cnn_of(lab))));
           }});
  return section;
}

// By how much more equal weights leave than learned ones.
Samples needed(const std::vector<Found>& equal, const std::vector<Found>& own) {
  Samples more = left_of(equal);
  for (size_t i = 0; i < more.size(); ++i) more[i] -= own[i].left;
  return more;
}

// The weights of the first seed, of one question.
HeatMap weights_map(const Text& title, const std::vector<Found>& all) {
  const Tensor& weights = *all[0].weights;
  return map_of_inputs(title, slice(weights, 0, 0, 1));
}

Section trusted_section(const Arms& arms) {
  return make_section(
      "mixers.trusted",
      {has_learned(say("attention to tokens"), arms.self),
       has_learned(say("attention to the states of an LSTM"), arms.over_states),
       larger(say("to tokens, variance left: weights moved half a sentence on, and equal weights"),
              moved_of(arms.self), left_of(arms.set)),
       above(say("to tokens: what equal weights leave more than learned ones"), kLearned,
             needed(arms.set, arms.self)),
       named("states", above(say("to states: what equal weights leave more than learned ones"),
                             kLearned, needed(arms.states_set, arms.over_states)))},
      {HeatMaps{.title = say("Weights for one question, whose marked token is {0}",
                             arms.self[0].places.to_vector()[0]),
                .maps = {weights_map(say("to tokens"), arms.self),
                         weights_map(say("to the states of an LSTM"), arms.over_states)}}});
}

std::vector<Section> run(const LabContext& lab) {
  const Arms arms = train_all(lab);
  return {inputs_section(lab), assigned_section(arms), old_section(lab, arms),
          trusted_section(arms)};
}

}  // namespace

Lab mixers_lab() { return make_lab("mixers", run); }

}  // namespace qkv
