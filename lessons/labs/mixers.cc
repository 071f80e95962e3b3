// Weights that are set by hand, that are learned, that are computed from the input.
#include "framework/nn/linear.h"
#include "lessons/labs/kit.h"
#include "models/mixer.h"

namespace qkv {
namespace {

using Attention = Child<"attention", MultiHeadAttention>;
using Learned = Child<"learned", LearnedMixing>;

Mixer make(const LabContext& lab, const std::string& kind, uint64_t seed, bool projects = true) {
  ModelOptions options = {
      .d_model = lab.integer("d"), .mixer = kind, .num_heads = 1, .scale_scores = projects};
  if (!projects) options.attention.projections = Projections::kNone;
  Initializer init(RandomStream(seed), DType::f64);
  Mixer mixer = make_mixer(
      init, options, {.max_length = lab.integer("n"), .causal = false, .residual_deviation = 0.5});
  auto* const layer = std::get_if<Attention>(&mixer.kind);
  if (lab.is_control() && layer) layer->scale = 0;
  return mixer;
}

// With scores as if they had been learned: a new table is uniform.
Mixer make_learned(const LabContext& lab) {
  Mixer mixer = make(lab, "learned", 1);
  Tensor& scores = std::get<Learned>(mixer.kind).scores;
  scores = as_parameter(random_normal(RandomStream(1), "scores", scores.shape()));
  return mixer;
}

// Larger than 1, so that scores of new maps differ as those of trained ones do.
Tensor make_words(const LabContext& lab, const char* name) {
  const RandomStream random(lab.integer("seed"));
  return random_normal(random, name, {1, lab.integer("n"), lab.integer("d")}) * 20.0;
}

Tensor run_mixer(const Mixer& mixer, const Tensor& x) {
  return run_module(mixer, x, AttentionMask{});
}

// The weights with which the tokens are mixed.
Tensor weights_of(const Mixer& mixer, const Tensor& x) {
  const Trace trace = trace_module(mixer, x, AttentionMask{}).trace;
  return trace[absl::StrCat(std::string(mixer.name()), ".weights")];
}

Tensor weights_between(const Attention& layer, const Tensor& x, const Tensor& source) {
  return trace_module(layer, x, source, AttentionMask{}).trace["attention.weights"];
}

Section inputs_section(const LabContext& lab) {
  const Tensor a = make_words(lab, "a"), b = make_words(lab, "b"), c = make_words(lab, "c");
  const auto change = [&](const Mixer& mixer) {
    return largest_difference(weights_of(mixer, a), weights_of(mixer, b));
  };
  const Mixer attend = make(lab, "attention", 1), learned = make_learned(lab);
  const auto& layer = std::get<Attention>(attend.kind);
  const auto square = [&](const Tensor& weights) {
    return reshape(weights, {lab.integer("n"), lab.integer("n")});
  };
  return make_section("mixers.inputs",
                      {equal("mean: change with the input", 0, change(make(lab, "uniform", 1))),
                       equal("learned table: change", 0, change(learned)),
                       equal("convolution: change", 0, change(make(lab, "convolution", 1))),
                       above("self-attention: change", 0.01, change(attend)),
                       beyond(equal("attention to another sequence: change", 0,
                                    largest_difference(weights_between(layer, c, a),
                                                       weights_between(layer, c, b))))},
                      {heat_map_of("Learned table", weights_of(learned, a)),
                       heat_map_of("Self-attention, input a", square(weights_of(attend, a))),
                       heat_map_of("Self-attention, input b", square(weights_of(attend, b)))});
}

// Sentences in which one token is marked (its first number), and what is asked for is its second.
struct Question {
  Tensor x;       // [B, T, C]
  Tensor target;  // [B, T, 1]
};

Question ask(const LabContext& lab, RandomStream random) {
  constexpr int64_t kBatch = 32;
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  const Tensor x = random_normal(random, "x", {kBatch, n, d});
  const Tensor places = random_tokens(random, {kBatch}, n);
  const Tensor marked = reshape(one_hot(places, n, DType::f64), {kBatch, n, 1});
  const Tensor second = slice(x, 2, 1, 1);
  return {.x = concat({marked * 3.0, slice(x, 2, 1, d - 1)}, 2),
          .target = broadcast_to(sum(second * marked, 1, true), {kBatch, n, 1})};
}

struct Network {
  Mixer mixer;
  Child<"head", Linear> head;  // C -> 1

  void visit(Visitor& v) {
    mixer.visit(v);
    v.child(head);
  }
};

// The share of the answers' variance that is left after training.
double train(const LabContext& lab, const std::string& kind, uint64_t seed) {
  Initializer init(RandomStream(seed).derive("head"), DType::f64);
  const Network network = {make(lab, kind, seed), Linear(init, lab.integer("d"), 1, true, 0.5)};
  const auto loss_of = [&](const Question& question) {
    const Tensor error = network.head(run_mixer(network.mixer, question.x)) - question.target;
    return mean(error * error);
  };
  const RandomStream random = RandomStream(seed).derive("questions");
  train_with_adam(parameters(network), lab.integer("steps"),
                  [&](uint64_t step) { return loss_of(ask(lab, random.derive(step))); });
  double left = 0;
  constexpr uint64_t kTests = 10;
  for (uint64_t i = 0; i < kTests; ++i) {
    const Question question = ask(lab, random.derive("test").derive(i));
    left += loss_of(question).item() / mean(question.target * question.target).item() / kTests;
  }
  return left;
}

Section own_weights_section(const LabContext& lab) {
  const auto left_by = [&](const std::string& kind) {
    return over_seeds(lab, [&](uint64_t seed) {
      lab.say(absl::StrCat("mixers: ", kind, ", seed ", seed));
      return train(lab, kind, seed);
    });
  };
  const Samples by_mean = left_by("uniform"), by_table = left_by("learned"),
                by_attention = left_by("attention");
  return make_section(
      "mixers.own-weights",
      {larger("what is left of the variance: set, and computed", by_mean, by_attention),
       larger("learned, and computed", by_table, by_attention),
       at_most("computed, the worst seed", 0.1, most_of(by_attention))});
}

Section table_section(const LabContext& lab) {
  const Mixer learned = make_learned(lab), bare = make(lab, "attention", 1, false);
  const Tensor words = make_words(lab, "a") * 0.05, x = as_parameter(words);
  const Tensor weights = weights_of(learned, words), y = run_mixer(learned, x);
  const Tensor jacobian = mixing_matrix(y, x), flat = reshape(words, {x.dim(1), x.dim(2)});
  const double as_claimed = largest_difference(transposed(jacobian), weights);
  const Tensor computed = reshape(weights_of(bare, words), {x.dim(1), x.dim(1)});
  return make_section("mixers.table",
                      {same("dy_i / dx_j and w_ij", largest_difference(jacobian, weights)),
                       same("sums of the rows and 1", largest_of(sum(weights, -1) - 1.0)),
                       same("self-attention without maps, and softmax(X Xᵀ)",
                            largest_difference(computed, softmax(products_of_rows(flat, flat)))),
                       beyond(same("dy_j / dx_i and w_ij", as_claimed))});
}

// |dy / dx|, the whole matrix of it as a row, of a random direction of y.
Tensor taught(const Mixer& mixer, const Tensor& words, const Tensor& pushed) {
  const Tensor x = as_parameter(words);
  return backward(run_mixer(mixer, x), {.cotangent = pushed})[x];
}

Section old_section(const LabContext& lab) {
  const Tensor a = make_words(lab, "a") * 0.05, b = make_words(lab, "b") * 0.05;
  const Tensor pushed = make_words(lab, "pushed") * 0.05;
  const auto change = [&](const std::string& kind) {
    const Mixer mixer = make(lab, kind, 1);
    const Tensor gradient_at_a = taught(mixer, a, pushed);
    return largest_difference(gradient_at_a, taught(mixer, b, pushed)) / largest_of(gradient_at_a);
  };
  const auto behind_relu = [&](const Tensor& words) {
    const Mixer mixer = make(lab, "convolution", 1);
    const Tensor x = as_parameter(words);
    const Tensor back = backward(relu(run_mixer(mixer, x)), {.cotangent = pushed})[x];
    return back / largest_of(back);
  };
  return make_section(
      "mixers.old",
      {equal("convolution: change of dy/dx with the input", 0, change("convolution")),
       beyond(exact("convolution and ReLU: change of dy/dx with the input", 0,
                    largest_difference(behind_relu(a), behind_relu(b)), 0.01)),
       beyond(exact("lstm: change of dy/dx with the input", 0, change("recurrence"), 0.01))});
}

std::vector<Section> run(const LabContext& lab) {
  return {inputs_section(lab), own_weights_section(lab), table_section(lab), old_section(lab)};
}

}  // namespace

Lab mixers_lab() { return make_lab("mixers", run); }

}  // namespace qkv
