// Attention between two sequences, and within one.
#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/nn/attention.h"
#include "framework/ops/ops.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/labs/trained.h"
#include "lessons/report/statistics.h"

namespace qkv {
namespace {

constexpr const char* kConfig = R"(
name = "cross"
[data]
task = "reverse"
length = 8
validation_examples = 200
[model]
num_layers = 1
d_model = 32
num_heads = 2
d_ff = 64
[optimizer]
learning_rate = 5e-3
[train]
batch_size = 32
)";

constexpr int64_t kWidth = 8;

Tensor sequence(const char* name, int64_t length) {
  return random_normal(RandomStream(1).derive(name), {1, length, kWidth});
}

// A layer of attention in f64, and what it makes of x and a source: all it computes on the way.
struct Attended {
  Tensor output, weights;  // [1, Tq, C], [1, 1, Tq, Tk]
  Tensor dweights, dscores;
};

Attended attend(const Tensor& x, const Tensor& source) {
  Initializer init(RandomStream(1).derive("layer"), DType::f64);
  const auto map = [&] { return Linear(init, kWidth, kWidth, false, 1 / std::sqrt(kWidth)); };
  MultiHeadAttention layer;
  layer.query = map();
  layer.key = map();
  layer.value = map();
  layer.output = map();
  Trace trace;
  ForwardContext context{.trace = &trace};
  const Tensor y = layer(as_parameter(x), source, {}, context);
  const Tensor scores = trace["scores"], weights = trace["weights"];
  const Gradients gradients =
      backward(y, {.cotangent = random_normal(RandomStream(1).derive("dy"), y.shape()),
                   .keep = {scores, weights}});
  return {.output = y,
          .weights = weights,
          .dweights = gradients[weights],
          .dscores = gradients[scores]};
}

// In the control what is attended to is the sequence itself.
Tensor source_of(const LabContext& lab, const Tensor& x, const char* name, int64_t length) {
  return lab.is_control() ? x : sequence(name, length);
}

Section lengths_section(const LabContext& lab) {
  Section section = {
      .claims = {{"C32",
                  "注意力机制的输出序列长度与输入序列长度可以是**不同**的；而自注意力机制的的输出"
                  "序列长度与输入序列长度必须是**相同**的。",
                  "What attention gives may differ in length from what it reads; what "
                  "self-attention gives must be as long as what it reads."}},
      .formula = "P = softmax(X W_q (S W_k)ᵀ / √d_k)   [Tq × Tk]",
      .prediction =
          "As many rows come out as there are queries, whatever the length of the source; P and "
          "its gradient are Tq × Tk. Queries and keys of one sequence make it square.",
      .findings = {},
      .figures = {}};
  const int64_t queries = lab.integer("queries");
  const Tensor x = sequence("x", queries);
  for (const int64_t keys : lab.integers("keys")) {
    const Attended between = attend(x, source_of(lab, x, "source", keys));
    const auto size = [](const Tensor& t) { return absl::StrCat(t.dim(1), " × ", t.dim(2)); };
    const std::string expected = absl::StrCat(queries, " × ", keys);
    const Tensor p = reshape(between.weights, {1, queries, -1});
    section.findings.push_back(
        found(absl::StrCat("P for a source of ", keys), expected, size(p), size(p) == expected));
    const Tensor dp = reshape(between.dweights, {1, queries, -1});
    section.findings.push_back(
        found(absl::StrCat("dP for a source of ", keys), expected, size(dp), size(dp) == expected));
    section.findings.push_back(exact(absl::StrCat("rows that come out of a source of ", keys),
                                     static_cast<double>(queries),
                                     static_cast<double>(between.output.dim(1)), 0));
    section.findings.push_back(same("sums of the rows of P and 1, of dS and 0",
                                    std::max(largest_of(sum(between.weights, -1) - 1.0),
                                             largest_of(sum(between.dscores, -1)))));
  }
  const Attended within = attend(x, x);
  section.findings.push_back(exact("self-attention: rows that come out",
                                   static_cast<double>(queries),
                                   static_cast<double>(within.output.dim(1)), 0));
  const Attended first = attend(x, source_of(lab, x, "source", lab.integers("keys").back()));
  section.figures.push_back(heat_map_of("P: queries × keys of the source",
                                        reshape(first.weights, {queries, first.weights.dim(3)})));
  return section;
}

Section fixed_section(const LabContext& lab) {
  const Tensor x = sequence("x", 4), other = sequence("other x", 4);
  const double between = largest_difference(attend(x, source_of(lab, x, "source", 4)).weights,
                                            attend(x, source_of(lab, x, "other", 4)).weights);
  const double within = largest_difference(attend(x, x).weights, attend(other, other).weights);
  return {
      .claims = {{"C31",
                  "注意力机制的权重参数是一个全局可学习参数，对于模型来说是**固定**的；而自注意力"
                  "机制的权重参数是由输入决定的",
                  "The weights of attention are a global parameter that is learned, and "
                  "fixed for the model; those of self-attention are decided by the input."}},
      .formula = "P of two inputs, one model",
      .prediction =
          "Of attention between two sequences (mixers takes the sentence to mean a learned table): "
          "its weights are the same for every source; within one they change.",
      .findings = {exact("change of P with the source", 0, between),
                   found("change of P within, with the input", "above 0", format_number(within),
                         within > 0)},
      .figures = {},
      .correction =
          "Attention between two sequences computes its weights as well: both differ with the "
          "input. Fixed are weights that no query takes part in."};
}

// The attention layers of a model, by the paths of their maps.
double layers_of(const Model& model, const std::string& kind) {
  double layers = 0;
  for (const NamedParameter& parameter : parameters(model)) {
    layers += absl::EndsWith(parameter.name, absl::StrCat(".", kind, ".value.weight")) ? 1 : 0;
  }
  return layers;
}

Section once_section(const LabContext& lab) {
  const int64_t layers = lab.integer("layers");
  const ModelOptions options = {.kind = "encoder_decoder", .num_layers = layers};
  const DataShape data = {.vocabulary_size = 10, .max_length = 8, .source_length = 8};
  const Model model(options, data, Initializer::shapes_only(DType::f32));
  return {.claims = {{"C33",
                      "注意力机制在一个模型中通常只使用一次，作为编码器和解码器之间的**连接**部分；"
                      "而自注意力机制在同一个模型中可以使用很多次，作为网络**结构**的一部分。",
                      "Attention is used once in a model as a rule, to connect encoder and "
                      "decoder; self-attention may be used often, as part of the structure."}},
          .formula = "layers of an encoder-decoder",
          .prediction = "One layer attends to the other sequence, all others to their own.",
          .findings = {exact("layers of self-attention", static_cast<double>(2 * layers),
                             layers_of(model, "attention"), 0),
                       exact("layers of attention between the two", 1,
                             layers_of(model, "cross_attention"), 0)},
          .figures = {},
          .correction =
              "It was so in the recurrent models before. In a transformer every layer of the "
              "decoder attends to the encoder."};
}

struct Arm {
  const char* kind;
  std::vector<double> right = {}, loss = {};
  double parameters = 0;
};

Section task_section(const LabContext& lab) {
  Arm two = {.kind = "encoder_decoder"}, one = {.kind = "decoder"};
  for (Arm* arm : {&two, &one}) {
    for (const uint64_t seed : lab.seeds()) {
      const Trained trained = train_or_reuse(
          lab,
          lab_config(kConfig, {absl::StrCat("model.kind=", arm->kind), absl::StrCat("seed=", seed),
                               absl::StrCat("train.steps=", lab.integer("steps"))}));
      arm->right.push_back(trained.validation.sequence_accuracy);
      arm->loss.push_back(trained.validation.loss);
      arm->parameters = static_cast<double>(parameter_count(parameters(trained.model)));
    }
  }
  const auto finding = [](const char* what, const Arm& arm) {
    const double worst = *std::ranges::min_element(arm.right);
    return found(what, "at least 0.95", format_number(worst), worst >= 0.95);
  };
  Table table = {.title = "Eight digits, backwards",
                 .header = {"model", "parameters", "loss", "right"},
                 .rows = {}};
  for (const Arm& arm : {two, one}) {
    table.rows.push_back({arm.kind, format_number(arm.parameters), format_samples(arm.loss),
                          format_samples(arm.right)});
  }
  const double best_of_one = *std::ranges::max_element(one.right);
  return {.claims = {{"C34",
                      "注意力机制擅长捕捉两个**序列之间**的关系，如机器翻译任务中将一个序列映射为"
                      "另一个序列；而自注意力机制擅长捕捉单个**序列内部**的关系",
                      "Attention is good at what relates two sequences, as in translation; "
                      "self-attention at what relates parts of one."}},
          .formula = "y = reverse(x), as two sequences and as one",
          .prediction =
              "An encoder-decoder, which attends from answer to question, learns the task; a "
              "decoder, which has self-attention alone, does not.",
          .findings = {finding("right, encoder-decoder, the worst seed", two),
                       beyond(found("right, decoder with both as one sequence, the best seed",
                                    "below 0.95", format_number(best_of_one), best_of_one < 0.95))},
          .figures = {table},
          .condition = "the two are kept apart",
          .correction =
              "Put question and answer into one sequence, and self-attention relates the two: the "
              "relation is one of tokens, whichever sequence they are in."};
}

std::vector<Section> run(const LabContext& lab) {
  return {lengths_section(lab), fixed_section(lab), once_section(lab), task_section(lab)};
}

}  // namespace

Lab cross_lab() {
  return {.name = "cross",
          .question = "Attention between two sequences, and within one: what is the difference?",
          .control = "what is attended to is the sequence itself",
          .duration = "8 s",
          .options = {{"queries", "3", "tokens that ask", 1, 64},
                      {"keys", "1,3,7", "tokens of the source", 1, 64, Numbers::kWhole, 1,
                       kLongestList},
                      {"layers", "2", "of the encoder, and of the decoder", 2, 8},
                      steps_option("600"),
                      seeds_option("5", "trainings of each")},
          .run = run};
}

}  // namespace qkv
