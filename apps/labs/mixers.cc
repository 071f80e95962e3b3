// Weights that are set by hand, that are learned, that are computed from the input.
#include "apps/labs/kit.h"
#include "apps/labs/marked.h"

namespace qkv {
namespace {

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

Tensor run_mixer(const Mixer& mixer, const Tensor& x) {
  return run_module(mixer, x, AttentionMask{});
}

// The weights with which the tokens are mixed.
Tensor weights_of(const Mixer& mixer, const Tensor& x) {
  const Trace trace = trace_module(mixer, x, AttentionMask{}).trace;
  return trace[absl::StrCat(std::string(mixer.name()), ".weights")];
}

Tensor weights_between(const AttentionLayer& layer, const Tensor& x, const Tensor& source) {
  return trace_module(layer, x, source, AttentionMask{}).trace["attention.weights"];
}

HeatMap map_of(const Text& title, const Tensor& weights) {
  HeatMap map = heat_map_of(title, reshape(weights, {weights.dim(-2), weights.dim(-1)}));
  map.row_axis = say("output i");
  map.column_axis = say("input j");
  return map;
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
  const HeatMaps maps = {.title = say("The weights for two inputs"),
                         .maps = {map_of(say("learned table, input a"), weights_of(learned, a)),
                                  map_of(say("learned table, input b"), weights_of(learned, b)),
                                  map_of(say("self-attention, input a"), weights_of(attend, a)),
                                  map_of(say("self-attention, input b"), weights_of(attend, b))}};
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
  std::vector<Found> set, learned, self, between, convolution, lstm, over_states, states_set;
};

Arms train_all(const LabContext& lab) {
  // In their control neither a ReLU nor a gate is left: of both remains a convolution.
  const bool is_linear = lab.breaks("linear");
  const Finder cnn = {.mixer = "uniform", .below = "convolution", .bends = !is_linear};
  return {.set = find_marked(lab, {.mixer = "uniform"}),
          .learned = find_marked(lab, {.mixer = "learned"}),
          .self = find_marked(lab, {.mixer = "attention"}),
          .between = find_marked(lab, {.mixer = "attention", .is_asked_from = true}),
          .convolution = find_marked(lab, cnn),
          .lstm = find_marked(lab, is_linear ? cnn : Finder{.mixer = "recurrence"}),
          .over_states = find_marked(lab, {.mixer = "attention", .below = "recurrence"}),
          .states_set = find_marked(lab, {.mixer = "uniform", .below = "recurrence"})};
}

Finding has_learned(const Text& model, const std::vector<Found>& all) {
  return premise(
      at_most(say("{0}: share of the variance that is left", model), kLearned, left_of(all)));
}

Section own_weights_section(const Arms& arms) {
  const Samples set = left_of(arms.set), learned = left_of(arms.learned), self = left_of(arms.self);
  return make_section(
      "mixers.own-weights",
      {has_learned(say("self-attention"), arms.self),
       larger(say("what is left: weights that are set, and weights that are computed"), set, self),
       larger(say("weights learned for all inputs, and weights that are computed"), learned, self)},
      {bars_of({{say("set: all equal"), set},
                {say("a learned table"), learned},
                {say("self-attention"), self}})});
}

Section assigned_section(const Arms& arms) {
  const Samples set = left_of(arms.set), between = left_of(arms.between);
  return make_section(
      "mixers.assigned",
      {has_learned(say("self-attention"), arms.self),
       named("between", alike(say("what is left: attention to another sequence, and weights that "
                                  "are set"),
                              between, set, kLearned))},
      {bars_of({{say("set: all equal"), set},
                {say("attention to another sequence"), between},
                {say("self-attention"), left_of(arms.self)}})});
}

// In the control of these the table is computed from the input as well.
Mixer make_table(const LabContext& lab) {
  return lab.breaks("computed") ? make_layer(lab, "attention", RandomStream(1), false)
                                : make_learned(lab);
}

Section sum_section(const LabContext& lab) {
  const Tensor words = make_words(lab, 1, "a"), x = as_parameter(words);
  const Mixer table = make_table(lab);
  return make_section(
      "mixers.sum",
      {same(say("dy_i / dx_j and w_ij"),
            largest_difference(mixing_matrix(run_mixer(table, x), x), weights_of(table, words)))});
}

Section indices_section(const LabContext& lab) {
  const Tensor words = make_words(lab, 1, "a"), x = as_parameter(words);
  const Mixer table = make_table(lab);
  const Tensor weights = weights_of(table, words);
  const Tensor jacobian = mixing_matrix(run_mixer(table, x), x);
  return make_section(
      "mixers.indices",
      {same(say("sums over j of w_ij and 1"), largest_of(sum(weights, -1) - 1.0)),
       same(say("w_ij and the influence of input j on output i"),
            largest_difference(jacobian, weights)),
       beyond(named("swapped", same(say("w_ij and the influence of input i on output j"),
                                    largest_difference(transposed(jacobian), weights))))},
      {HeatMaps{.title = say("Weights and influence"),
                .maps = {map_of("w_ij", weights), map_of("dy_i / dx_j", jacobian)}}});
}

Section computed_section(const LabContext& lab) {
  const Mixer bare = make_layer(lab, "attention", RandomStream(1), false);
  const Tensor words = make_words(lab, 1, "a"), flat = reshape(words, {words.dim(1), words.dim(2)});
  const Tensor products = products_of_rows(flat, flat);
  const Tensor weights = reshape(weights_of(bare, words), products.shape());
  return make_section(
      "mixers.computed",
      {same(say("weights of self-attention without maps, and softmax(X Xᵀ)"),
            largest_difference(weights, softmax(products))),
       beyond(named("products", same(say("the same weights, and the products x_i · x_j themselves"),
                                     largest_difference(weights, products))))});
}

Section old_section(const Arms& arms) {
  const Samples set = left_of(arms.set), cnn = left_of(arms.convolution), lstm = left_of(arms.lstm);
  return make_section(
      "mixers.old",
      {has_learned(say("self-attention"), arms.self),
       named("cnn", alike(say("what is left: a CNN, and a mean, which cannot choose"), cnn, set,
                          kLearned)),
       named("lstm", alike(say("an LSTM, and a mean"), lstm, set, kLearned))},
      {bars_of({{say("mean"), set},
                {"CNN", cnn},
                {"LSTM", lstm},
                {say("self-attention"), left_of(arms.self)}})});
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
  return map_of(title, slice(weights, 0, 0, 1));
}

Section trusted_section(const Arms& arms) {
  return make_section(
      "mixers.trusted",
      {has_learned(say("attention to tokens"), arms.self),
       has_learned(say("attention to the states of an LSTM"), arms.over_states),
       larger(say("to tokens, what is left: weights moved half a sentence on, and equal weights"),
              moved_of(arms.self), left_of(arms.set)),
       above(say("to tokens: what equal weights leave more than learned ones"), kLearned,
             needed(arms.set, arms.self)),
       beyond(named("states", above(say("to states: what equal weights leave more than learned "
                                        "ones"),
                                    kLearned, needed(arms.states_set, arms.over_states))))},
      {HeatMaps{.title = say("Weights for one question, whose marked token is {0}",
                             arms.self[0].places.to_vector()[0]),
                .maps = {weights_map(say("to tokens"), arms.self),
                         weights_map(say("to the states of an LSTM"), arms.over_states)}}});
}

std::vector<Section> run(const LabContext& lab) {
  const Arms arms = train_all(lab);
  return {inputs_section(lab), own_weights_section(arms), assigned_section(arms),
          sum_section(lab),    indices_section(lab),      computed_section(lab),
          old_section(arms),   trusted_section(arms)};
}

}  // namespace

Lab mixers_lab() { return make_lab("mixers", run); }

}  // namespace qkv
