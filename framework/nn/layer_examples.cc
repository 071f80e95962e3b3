#include "framework/nn/layer_examples.h"

#include "framework/nn/layers.h"
#include "framework/nn/mixers/attention.h"
#include "framework/nn/mixers/mixer.h"
#include "framework/nn/mixers/position.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

// A layer that is called with x alone.
const auto kApplyToX = [](const auto& layer, ExampleTensors x) { return layer(x[0]); };
const auto kApplyInContext = [](const auto& layer, ExampleTensors x) {
  ForwardContext context;
  return layer(x[0], context);
};

ExampleInput normal(const Shape& shape) { return {Fill::kNormal, shape}; }

OpExamples linear_layer(Initializer init) {
  return {.op = "Linear",
          .examples = {module_example("with bias", Linear(init, 3, 4, true, 1.0),
                                      {normal({2, 2, 3})}, {"x"}, kApplyToX),
                       module_example("without bias", Linear(init, 3, 4, false, 1.0),
                                      {normal({2, 3})}, {"x"}, kApplyToX)}};
}

OpExamples embedding_layer(Initializer init) {
  return {.op = "Embedding",
          .examples = {module_example("tokens that repeat", Embedding(init, 4, 3, 1.0),
                                      {{Fill::kIndices, {2, 5}, 4}}, {"tokens"}, kApplyToX)}};
}

OpExamples layer_norm_layer(Initializer init) {
  return {.op = "LayerNorm",
          .examples = {module_example("with bias", LayerNorm(init, 5, true), {normal({2, 3, 5})},
                                      {"x"}, kApplyToX),
                       module_example("without bias", LayerNorm(init, 5, false), {normal({3, 5})},
                                      {"x"}, kApplyToX)}};
}

OpExamples rms_norm_layer(Initializer init) {
  return {.op = "RmsNorm",
          .examples = {module_example("rows of 5", RmsNorm(init, 5), {normal({2, 3, 5})}, {"x"},
                                      kApplyToX)}};
}

OpExamples dropout_layer() {
  return {.op = "Dropout",
          .examples = {{.name = "while training",
                        .inputs = {normal({4, 5})},
                        .f =
                            [](ExampleTensors x) {
                              ForwardContext context{.training = true, .random = RandomStream(2)};
                              return Dropout{0.4}(x[0], context);
                            },
                        .input_names = {"x"}},
                       {.name = "afterwards",
                        .inputs = {normal({4, 5})},
                        .f =
                            [](ExampleTensors x) {
                              ForwardContext context;
                              return Dropout{0.4}(x[0], context) * 2.0;
                            },
                        .input_names = {"x"}}}};
}

OpExamples feed_forward_layer(Initializer init) {
  const auto example = [&](const char* name, Activation activation) {
    const FeedForward layer = {
        .up = Linear(init, 3, 6, true, 1.0),
        .down = Linear(init, 6, 3, true, 1.0),
        .activation = activation,
        .dropout = {},
        .gate = activation == Activation::kSwiglu ? Linear(init, 3, 6, true, 1.0) : Linear()};
    return module_example(name, layer, {normal({2, 2, 3})}, {"x"}, kApplyInContext);
  };
  return {.op = "FeedForward",
          .examples = {example("gelu", Activation::kGelu),
                       example("gelu, tanh form", Activation::kGeluTanh),
                       example("relu", Activation::kRelu), example("silu", Activation::kSilu),
                       example("relu, squared", Activation::kReluSquared),
                       example("swiglu", Activation::kSwiglu)}};
}

constexpr int64_t kWidth = 4;  // of attention's inputs

// A map from `in` to `out` numbers.
Projection map(Initializer& init, int64_t in, int64_t out, bool rounds) {
  return Linear(init, in, out, /*with_bias=*/true, /*standard_deviation=*/1.0, rounds);
}

// With a map of its own for each of queries, keys and values, which are `width` wide together.
MultiHeadAttention make_attention(Initializer init, int64_t num_heads, int64_t width = kWidth,
                                  int64_t num_key_value_heads = 0) {
  const int64_t key_heads = num_key_value_heads > 0 ? num_key_value_heads : num_heads;
  MultiHeadAttention attention;
  attention.query = map(init, kWidth, width, /*rounds=*/true);
  attention.key = map(init, kWidth, width / num_heads * key_heads, true);
  attention.value = map(init, kWidth, width / num_heads * key_heads, true);
  attention.output = map(init, width, kWidth, false);
  attention.num_heads = num_heads;
  attention.num_key_value_heads = key_heads;
  return attention;
}

MultiHeadAttention with_projections(const Initializer& init, Projections projections) {
  MultiHeadAttention attention = make_attention(init, 2);
  attention.projections = projections;
  if (projections == Projections::kNone) {
    attention.value = Identity();
    attention.output = Identity();
  }
  return attention;
}

MultiHeadAttention with_narrow_heads(Initializer init) {
  MultiHeadAttention attention = make_attention(init, 2);
  for (Projection* p :
       std::initializer_list<Projection*>{&attention.query, &attention.key, &attention.value}) {
    p->kind = PartsLinear(init, 2, kWidth, /*with_bias=*/true, /*standard_deviation=*/1.0);
  }
  return attention;
}

MultiHeadAttention with_position(Initializer init, Position position, bool both_sides = false) {
  MultiHeadAttention attention = make_attention(init, 2);
  attention.position = AttentionPosition(init, position, 2, /*max_length=*/2, both_sides);
  return attention;
}

OpExamples attention_layer(const Initializer& init) {
  const auto self = [](bool causal) {
    return [causal](const MultiHeadAttention& attention, ExampleTensors x) {
      ForwardContext context;
      const Tensor padding = x.size() > 1 ? x[1] : Tensor();
      return attention(x[0], {.causal = causal, .padding = padding}, context);
    };
  };
  const auto cross = [](const MultiHeadAttention& attention, ExampleTensors x) {
    ForwardContext context;
    return attention(x[0], x[1], AttentionMask(), context);
  };
  const ExampleInput x = normal({2, 3, kWidth}), padding = {Fill::kMask, {2, 3}};
  const MultiHeadAttention two_heads = make_attention(init, 2);
  MultiHeadAttention not_scaled = two_heads, scaled = two_heads;
  MultiHeadAttention normalized = two_heads;
  Initializer of_norms = init;
  normalized.normalizes = true;
  normalized.query_norm = RmsNorm(of_norms, kWidth / 2);
  normalized.key_norm = RmsNorm(of_norms, kWidth / 2);
  not_scaled.scale_scores = false;
  scaled.scale = 0.3;
  const auto causal = [&](const char* name, const MultiHeadAttention& attention) {
    return module_example(name, attention, {x}, {"x"}, self(true));
  };
  return {
      .op = "MultiHeadAttention",
      .examples = {
          module_example("every position sees every other", two_heads, {x}, {"x"}, self(false)),
          module_example("causal", two_heads, {x}, {"x"}, self(true)),
          module_example("with padding", two_heads, {x, padding}, {"x", "padding"}, self(false)),
          module_example("causal, with padding", two_heads, {x, padding}, {"x", "padding"},
                         self(true)),
          module_example("causal, in a window", two_heads, {x}, {"x"},
                         [](const MultiHeadAttention& attention, ExampleTensors all) {
                           ForwardContext context;
                           return attention(all[0], {.causal = true, .window = 2}, context);
                         }),
          causal("scores that are not scaled", not_scaled),
          causal("scores scaled by a number", scaled),
          causal("one head", make_attention(init, 1)),
          causal("queries and keys that are normalized", normalized),
          causal("wide heads", make_attention(init, 2, 2 * kWidth)),
          causal("narrow heads", with_narrow_heads(init)),
          causal("two heads of queries, one of keys and values",
                 make_attention(init, 2, kWidth, 1)),
          causal("keys that are values", with_projections(init, Projections::kSharedKeyValue)),
          causal("queries, keys and values from one map",
                 with_projections(init, Projections::kShared)),
          causal("no maps at all", with_projections(init, Projections::kNone)),
          causal("rotary positions", with_position(init, Position::kRotary)),
          causal("ALiBi", with_position(init, Position::kAlibi)),
          causal("a learned bias for each distance back", with_position(init, Position::kRelative)),
          module_example("a learned bias for each distance both ways",
                         with_position(init, Position::kRelative, /*both_sides=*/true), {x}, {"x"},
                         self(false)),
          module_example("to another sequence", two_heads, {x, normal({2, 5, 4})}, {"x", "source"},
                         cross)}};
}

OpExamples position_layer() {
  return {
      .op = "SinusoidalPosition",
      .examples = {
          {.name = "added to the embedding",
           .inputs = {normal({2, 3, 4})},
           .f = [](ExampleTensors x) { return x[0] + sinusoidal_positions(3, 4, x[0].dtype()); },
           .input_names = {"x"}}}};
}

constexpr int64_t kSequenceWidth = 3, kSequenceLength = 4;

ExampleInput sequences() { return {Fill::kNormal, {2, kSequenceLength, kSequenceWidth}}; }

// An example with the inputs x and, if it is padded, the padding.
template <class Layer>
OpExample example(const char* name, const Layer& layer, bool causal, bool padded = false) {
  std::vector<ExampleInput> inputs = {sequences()};
  std::vector<std::string> names = {"x"};
  if (padded) {
    inputs.push_back({Fill::kMask, {2, kSequenceLength}});
    names.emplace_back("padding");
  }
  return module_example(name, layer, std::move(inputs), std::move(names),
                        [causal](const Layer& mixer, ExampleTensors x) {
                          ForwardContext context;
                          const Tensor padding = x.size() > 1 ? x[1] : Tensor();
                          return mixer(x[0], {.causal = causal, .padding = padding}, context);
                        });
}

OpExamples convolution_layer(const Initializer& initializer) {
  const auto layer = [&](int64_t kernel, bool depthwise, bool with_bias) {
    Initializer init = initializer;
    return Convolution(init, kSequenceWidth, kernel, depthwise, with_bias, 1.0);
  };
  return {
      .op = "Convolution",
      .examples = {example("full, causal", layer(3, false, true), true),
                   example("full, centred, an even kernel, no bias", layer(2, false, false), false),
                   example("full, centred, with padding", layer(3, false, true), false, true),
                   example("depthwise, causal, with padding", layer(3, true, true), true, true),
                   example("depthwise, centred, no bias", layer(3, true, false), false)}};
}

OpExamples recurrence_layer(const Initializer& initializer) {
  const auto layer = [&](Cell cell, bool both_directions, bool with_bias) {
    Initializer init = initializer;
    return Recurrence(init, kSequenceWidth, cell, both_directions, with_bias, 1.0);
  };
  return {.op = "Recurrence",
          .examples = {example("rnn", layer(Cell::kRnn, false, true), true),
                       example("rnn in both directions, with padding, no bias",
                               layer(Cell::kRnn, true, false), false, true),
                       example("lstm", layer(Cell::kLstm, false, true), true),
                       example("lstm in both directions, with padding",
                               layer(Cell::kLstm, true, true), false, true)}};
}

OpExamples learned_layer(Initializer init) {
  const LearnedMixing layer(init, kSequenceLength + 1);
  return {.op = "LearnedMixing",
          .examples = {example("of both sides", layer, false), example("causal", layer, true),
                       example("with padding", layer, false, true),
                       example("causal, with padding", layer, true, true)}};
}

OpExamples uniform_layer() {
  const UniformMixing layer;
  return {.op = "UniformMixing",
          .examples = {example("of both sides", layer, false), example("causal", layer, true),
                       example("causal, with padding", layer, true, true)}};
}

}  // namespace

std::vector<OpExamples> layer_examples(const Initializer& init) {
  return {linear_layer(init),    embedding_layer(init),   layer_norm_layer(init),
          rms_norm_layer(init),  dropout_layer(),         feed_forward_layer(init),
          attention_layer(init), convolution_layer(init), recurrence_layer(init),
          learned_layer(init),   uniform_layer(),         position_layer()};
}

}  // namespace qkv
