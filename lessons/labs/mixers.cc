// Weights that are set by hand, that are learned, that are computed from the input.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/nn/linear.h"
#include "framework/optim/optimizer.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/report/statistics.h"
#include "models/mixer.h"

namespace qkv {
namespace {

using Attention = Child<"attention", MultiHeadAttention>;
using Learned = Child<"learned", LearnedMixing>;

Mixer make(const LabContext& lab, MixerKind kind, uint64_t seed, bool projects = true) {
  ModelOptions options;
  options.d_model = lab.integer("d");
  options.num_heads = 1;
  options.mixer = kind;
  options.scale_scores = projects;
  options.attention.projections = projects ? Projections::kSeparate : Projections::kNone;
  Initializer init(RandomStream(seed), DType::f64);
  Mixer mixer = make_mixer(init, options, lab.integer("n"), /*causal=*/false, 0.5);
  if (Attention* const layer = std::get_if<Attention>(&mixer.kind)) {
    if (lab.is_control()) layer->scale = 0;
  }
  return mixer;
}

// With scores as if they had been learned: a new table is uniform.
Mixer make_learned(const LabContext& lab) {
  Mixer mixer = make(lab, MixerKind::kLearned, 1);
  Tensor& scores = std::get<Learned>(mixer.kind).scores;
  scores = as_parameter(random_normal(RandomStream(1).derive("scores"), scores.shape()));
  return mixer;
}

// Larger than 1, so that scores of new maps differ as those of trained ones do.
Tensor make_words(const LabContext& lab, const char* name) {
  const RandomStream random(lab.integer("seed"));
  return random_normal(random.derive(name), {1, lab.integer("n"), lab.integer("d")}) * 20.0;
}

Tensor run_mixer(const Mixer& mixer, const Tensor& x) {
  ForwardContext context;
  return mixer(x, {}, context);
}

// The weights with which the tokens are mixed.
Tensor weights_of(const Mixer& mixer, const Tensor& x) {
  Trace trace;
  ForwardContext context;
  context.trace = &trace;
  mixer(x, {}, context);
  return trace[absl::StrCat(std::string(mixer.name()), ".weights")];
}

Tensor weights_between(const Attention& layer, const Tensor& x, const Tensor& source) {
  Trace trace;
  ForwardContext context;
  context.trace = &trace;
  layer(x, source, AttentionMask{}, context);
  return trace["attention.weights"];
}

Finding changes(const std::string& what, double change) {
  return found(what, "above 0.01", format_number(change), change > 0.01);
}

Section inputs_section(const LabContext& lab) {
  const Tensor a = make_words(lab, "a"), b = make_words(lab, "b"), c = make_words(lab, "c");
  const auto change = [&](const Mixer& mixer) {
    return largest_difference(weights_of(mixer, a), weights_of(mixer, b));
  };
  const Mixer attend = make(lab, MixerKind::kAttention, 1), learned = make_learned(lab);
  const auto& layer = std::get<Attention>(attend.kind);
  const auto square = [&](const Tensor& weights) {
    return reshape(weights, {lab.integer("n"), lab.integer("n")});
  };
  return {
      .claims = {{"C31",
                  "注意力机制的权重参数是一个全局可学习参数，对于模型来说是固定的；而自注意力机制的"
                  "权重参数是由输入决定的，即使是同一个模型，对于不同的输入也会有不同的权重参数。",
                  "The weights of attention are global parameters, fixed for a model; those of "
                  "self-attention are decided by the input: one model has different weights for "
                  "different inputs."}},
      .formula = "M(a) - M(b)",
      .prediction =
          "Between two inputs the weights of a mean, of a learned table and of a "
          "convolution stay the same to the bit; those of self-attention change.",
      .findings =
          {exact("mean: change with the input", 0, change(make(lab, MixerKind::kUniform, 1)), 0),
           exact("learned table: change", 0, change(learned), 0),
           exact("convolution: change", 0, change(make(lab, MixerKind::kConvolution, 1)), 0),
           changes("self-attention: change", change(attend)),
           beyond(exact(
               "attention to another sequence: change", 0,
               largest_difference(weights_between(layer, c, a), weights_between(layer, c, b)), 0))},
      .figures = {heat_map_of("Learned table", weights_of(learned, a)),
                  heat_map_of("Self-attention, input a", square(weights_of(attend, a))),
                  heat_map_of("Self-attention, input b", square(weights_of(attend, b)))},
      .condition = "by attention a learned table is meant, as in C24",
      .correction =
          "Attention between two sequences, as it is used in translation, computes its "
          "weights from both: they change with the input as well."};
}

// Sentences in which one token is marked (its first number), and what is asked for is its second.
struct Question {
  Tensor x;       // [B, T, C]
  Tensor target;  // [B, T, 1]
};

Question ask(const LabContext& lab, RandomStream random) {
  constexpr int64_t kBatch = 32;
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  const Tensor x = random_normal(random.derive("x"), {kBatch, n, d});
  std::vector<int64_t> places;
  for (int64_t i = 0; i < kBatch; ++i) {
    places.push_back(static_cast<int64_t>(random.below(static_cast<uint64_t>(n))));
  }
  const Tensor marked =
      reshape(one_hot(Tensor(Array::of({kBatch}, places)), n, DType::f64), {kBatch, n, 1});
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
double train(const LabContext& lab, MixerKind kind, uint64_t seed) {
  Initializer init(RandomStream(seed).derive("head"), DType::f64);
  const Network network = {make(lab, kind, seed), Linear(init, lab.integer("d"), 1, true, 0.5)};
  const auto loss_of = [&](const Question& question) {
    const Tensor error = network.head(run_mixer(network.mixer, question.x)) - question.target;
    return mean(error * error);
  };
  const std::vector<NamedParameter> all = parameters(network);
  const auto optimizer = make_optimizer({.kind = OptimizerKind::kAdam, .weight_decay = 0}, all);
  const RandomStream random = RandomStream(seed).derive("questions");
  const int64_t steps = lab.integer("steps");
  for (int64_t step = 0; step < steps; ++step) {
    const Gradients gradients =
        backward(loss_of(ask(lab, random.derive(static_cast<uint64_t>(step)))));
    std::vector<Tensor> in_order;
    for (const NamedParameter& each : all) {
      in_order.push_back(gradients.contains(each.tensor) ? gradients[each.tensor]
                                                         : zeros(each.tensor.shape(), DType::f64));
    }
    optimizer->step(in_order, 0.02);
  }
  double left = 0;
  constexpr uint64_t kTests = 10;
  for (uint64_t i = 0; i < kTests; ++i) {
    const Question question = ask(lab, random.derive("test").derive(i));
    left += loss_of(question).item() / mean(question.target * question.target).item() / kTests;
  }
  return left;
}

Section own_weights_section(const LabContext& lab) {
  std::vector<double> by_mean, by_table, by_attention;
  for (const uint64_t seed : lab.seeds()) {
    lab.say(absl::StrCat("mixers: seed ", seed));
    by_mean.push_back(train(lab, MixerKind::kUniform, seed));
    by_table.push_back(train(lab, MixerKind::kLearned, seed));
    by_attention.push_back(train(lab, MixerKind::kAttention, seed));
  }
  return {
      .claims = {{"A6",
                  "人为设计的注意力机制,是非常主观的,而且没有一个准则来评定,这个权重设置为多少"
                  "才好。所以,如何让模型自己对变量的权重进行自赋值成了一个问题,这个权重自赋值的"
                  "过程也就是self-attention。",
                  "Weights that people set are subjective, and nothing tells how large they had "
                  "better be. To let the model assign them itself is self-attention."}},
      .formula = "w_ij = 1 / n,   w_ij = softmax(table)_ij,   w_ij = softmax(Q Kᵀ)_ij",
      .prediction =
          "One token of each input is marked, every time another, and its number is "
          "asked for. Weights set by hand, or learned once for all inputs, miss it; "
          "computed ones find it.",
      .findings = {larger("what is left of the variance: set, and computed", by_mean, by_attention),
                   larger("learned, and computed", by_table, by_attention),
                   found("computed, the worst seed", "at most 0.1",
                         format_number(std::ranges::max(by_attention)),
                         std::ranges::max(by_attention) <= 0.1)}};
}

Section table_section(const LabContext& lab) {
  const Mixer learned = make_learned(lab), bare = make(lab, MixerKind::kAttention, 1, false);
  const Tensor words = make_words(lab, "a") * 0.05, x = as_parameter(words);
  const Tensor weights = weights_of(learned, words), y = run_mixer(learned, x);
  std::vector<Tensor> rows;  // dy_i / dx_j, of the first number of each token
  for (int64_t i = 0; i < lab.integer("n"); ++i) {
    const Tensor back = backward(slice(slice(y, 1, i, 1), 2, 0, 1), {.keep_graph = true})[x];
    rows.push_back(reshape(slice(back, 2, 0, 1), {1, x.dim(1)}));
  }
  const Tensor jacobian = concat(rows, 0), flat = reshape(words, {x.dim(1), x.dim(2)});
  const double as_claimed = largest_difference(transpose(jacobian, 0, 1), weights);
  const Tensor computed = reshape(weights_of(bare, words), {x.dim(1), x.dim(1)});
  return {
      .claims = {{"C24", "y_i = Σ_j w_ij x_j", "Each output is a sum of the inputs."},
                 {"C26",
                  "其中w_{ij}表示输入序列的第i个token对输出序列的第j个token的重要性程度。在实际中"
                  "引入约束Σ_j w_{ij}=1，这一步是通过softmax函数实现的。",
                  "w_ij says how important token i of the input is to token j of the output. "
                  "Their sum over j is held at 1, by softmax."},
                 {"C28", "w_{ij}=x_i^Tx_j", "Of self-attention: computed from the input."}},
      .formula = "w_ij = dy_i / dx_j",
      .prediction =
          "The gradient of output i at input j is w_ij, and rows sum to 1. Without "
          "maps the weights of self-attention are softmax(X Xᵀ).",
      .findings = {same("dy_i / dx_j and w_ij", largest_difference(jacobian, weights)),
                   same("sums of the rows and 1", largest_of(sum(weights, -1) - 1.0)),
                   same("self-attention without maps, and softmax(X Xᵀ)",
                        largest_difference(computed,
                                           softmax(matmul(flat, flat, {.transpose_b = true})))),
                   beyond(same("dy_j / dx_i and w_ij", as_claimed))},
      .condition = "i is the output and j the input",
      .correction =
          "The roles are swapped: in y_i = Σ_j w_ij x_j the weight w_ij is that of "
          "input j for output i. And a softmax stands around x_iᵀ x_j."};
}

// |dy / dx|, the whole matrix of it as a row, of a random direction of y.
Tensor taught(const Mixer& mixer, const Tensor& words, const Tensor& pushed) {
  const Tensor x = as_parameter(words);
  return backward(run_mixer(mixer, x), {.cotangent = pushed})[x];
}

Section old_section(const LabContext& lab) {
  const Tensor a = make_words(lab, "a") * 0.05, b = make_words(lab, "b") * 0.05;
  const Tensor pushed = make_words(lab, "pushed") * 0.05;
  const auto change = [&](MixerKind kind) {
    const Mixer mixer = make(lab, kind, 1);
    const Tensor of_a = taught(mixer, a, pushed);
    return largest_difference(of_a, taught(mixer, b, pushed)) / largest_of(of_a);
  };
  const auto behind_relu = [&](const Tensor& words) {
    const Mixer mixer = make(lab, MixerKind::kConvolution, 1);
    const Tensor x = as_parameter(words);
    const Tensor back = backward(relu(run_mixer(mixer, x)), {.cotangent = pushed})[x];
    return back / largest_of(back);
  };
  return {
      .claims = {{"B9", "但是，对于一个模型而言（CNN、LSTM），很难决定什么重要，什么不重要",
                  "For a model such as a CNN or an LSTM it is hard to decide what matters and "
                  "what does not."}},
      .formula = "dy/dx at input a, and at input b",
      .prediction =
          "A layer that cannot decide passes each token on with the same factor, "
          "whatever the input.",
      .findings = {exact("convolution: change of dy/dx with the input", 0,
                         change(MixerKind::kConvolution), 0),
                   beyond(exact("convolution and ReLU: change of dy/dx with the input", 0,
                                largest_difference(behind_relu(a), behind_relu(b)), 0.01)),
                   beyond(exact("lstm: change of dy/dx with the input", 0,
                                change(MixerKind::kRecurrence), 0.01))},
      .condition = "the model is a convolution and nothing else",
      .correction =
          "A ReLU behind a convolution does decide, number by number, and so do the gates of an "
          "LSTM. But they decide what to keep before they know what it will be needed for."};
}

std::vector<Section> run(const LabContext& lab) {
  return {inputs_section(lab), own_weights_section(lab), table_section(lab), old_section(lab)};
}

}  // namespace

Lab mixers_lab() {
  return {.name = "mixers",
          .question = "Weights that are set, learned, computed: which depend on the input?",
          .control = "the scores of attention are all 0",
          .duration = "2 s",
          .options = {{"n", "6", "tokens", 2, 32},
                      {"d", "8", "numbers of a token", 2, 64, Numbers::kMultiples},
                      seed_option("of what is exact"),
                      steps_option("300"),
                      seeds_option("5", "trainings of each")},
          .run = run};
}

}  // namespace qkv
