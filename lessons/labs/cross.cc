// Attention between two sequences, and within one.
#include "absl/strings/match.h"
#include "framework/nn/attention.h"
#include "lessons/labs/kit.h"
#include "lessons/labs/trained.h"

namespace qkv {
namespace {

constexpr int64_t kWidth = 8;

Tensor sequence(const char* name, int64_t length) {
  return random_normal(RandomStream(1), name, {1, length, kWidth});
}

// A layer of attention in f64, and what it makes of x and a source: all it computes on the way.
struct Attended {
  Tensor output, weights;  // [1, Tq, C], [1, 1, Tq, Tk]
  Tensor dweights, dscores;
};

Attended attend(const Tensor& x, const Tensor& source) {
  const MultiHeadAttention layer = attention_layer(RandomStream(1).derive("layer"), kWidth, 1);
  const auto [y, trace] = trace_module(layer, as_parameter(x), source, AttentionMask{});
  const Tensor scores = trace["scores"], weights = trace["weights"];
  const Gradients gradients = backward(
      y, {.cotangent = random_normal(RandomStream(1), "dy", y.shape()), .keep = {scores, weights}});
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
  Section section = make_section("cross.lengths");
  const int64_t queries = lab.integer("queries");
  const Tensor x = sequence("x", queries);
  const auto size = [](const Tensor& t) { return absl::StrCat(t.dim(1), " × ", t.dim(2)); };
  for (const int64_t keys : lab.integers("keys")) {
    const Attended between = attend(x, source_of(lab, x, "source", keys));
    const std::string expected = absl::StrCat(queries, " × ", keys);
    const std::pair<const char*, Tensor> squares[] = {{"P", between.weights},
                                                      {"dP", between.dweights}};
    for (const auto& [name, tensor] : squares) {
      const std::string measured = size(reshape(tensor, {1, queries, -1}));
      section.add(found(absl::StrCat(name, " for a source of ", keys), expected, measured,
                        measured == expected));
    }
    section.add(equal(absl::StrCat("rows that come out of a source of ", keys), queries,
                      between.output.dim(1)));
    section.add(same("sums of the rows of P and 1, of dS and 0",
                     std::max(largest_of(sum(between.weights, -1) - 1.0),
                              largest_of(sum(between.dscores, -1)))));
  }
  const Attended within = attend(x, x);
  section.add(equal("self-attention: rows that come out", queries, within.output.dim(1)));
  const Attended first = attend(x, source_of(lab, x, "source", lab.integers("keys").back()));
  section.show(heat_map_of("P: queries × keys of the source",
                           reshape(first.weights, {queries, first.weights.dim(3)})));
  return section;
}

Section fixed_section(const LabContext& lab) {
  const Tensor x = sequence("x", 4), other = sequence("other x", 4);
  const double between = largest_difference(attend(x, source_of(lab, x, "source", 4)).weights,
                                            attend(x, source_of(lab, x, "other", 4)).weights);
  const double within = largest_difference(attend(x, x).weights, attend(other, other).weights);
  return make_section("cross.fixed", {exact("change of P with the source", 0, between),
                                      above("change of P within, with the input", 0, within)});
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
  return make_section(
      "cross.once",
      {equal("layers of self-attention", 2 * layers, layers_of(model, "attention")),
       equal("layers of attention between the two", 1, layers_of(model, "cross_attention"))});
}

Section task_section(const LabContext& lab) {
  struct Arm {
    std::string kind;
    std::vector<Trained> models = {};

    Samples right() const { return right_sequences_of(models); }
  };
  std::vector<Arm> arms(2);
  arms[0].kind = "encoder_decoder";
  arms[1].kind = "decoder";
  for (Arm& arm : arms) {
    arm.models = train_over_seeds(lab, {absl::StrCat("model.kind=", arm.kind)});
  }
  const Table table = table_by(
      "Eight digits, backwards", {"model", "parameters", "loss", "right"}, arms,
      [](const Arm& arm) {
        const auto count = static_cast<double>(parameter_count(parameters(arm.models[0].model)));
        return std::vector{arm.kind, format_number(count), format_samples(losses_of(arm.models)),
                           format_samples(arm.right())};
      });
  return make_section(
      "cross.task",
      {at_least("right, encoder-decoder, the worst seed", 0.95, least_of(arms[0].right())),
       beyond(below("right, decoder with both as one sequence, the best seed", 0.95,
                    most_of(arms[1].right())))},
      {table});
}

std::vector<Section> run(const LabContext& lab) {
  return {lengths_section(lab), fixed_section(lab), once_section(lab), task_section(lab)};
}

}  // namespace

Lab cross_lab() { return make_lab("cross", run); }

}  // namespace qkv
