#include "models/examples.h"

#include "framework/nn/examples.h"
#include "framework/ops/ops.h"
#include "models/model.h"

namespace qkv {
namespace {

constexpr int64_t kVocabulary = 5, kBatch = 2, kLength = 4;

// A model that reads tokens.
OpExample of_tokens(const char* name, ModelOptions options) {
  options.d_model = 4;
  options.num_heads = 2;
  options.d_ff = 6;
  const Model model(options, {kVocabulary, kLength}, Initializer(RandomStream(1), DType::f64));
  const auto loss = [](const Model& of_kind, std::span<const Tensor> x) {
    ForwardContext context{.training = true, .random = RandomStream(2)};
    return cross_entropy(of_kind(x.first(1), context), x[1], {.ignored = -1});
  };
  return module_example(name, model,
                        {{Fill::kIndices, {kBatch, kLength}, kVocabulary},
                         {Fill::kTargets, {kBatch, kLength}, kVocabulary}},
                        {"tokens", "targets"}, loss);
}

// A decoder of one block with each mixer but attention.
std::vector<OpExample> with_other_mixers() {
  const auto example = [](const char* name, ModelOptions options) {
    options.num_layers = 1;
    options.position = Position::kNone;
    return of_tokens(name, options);
  };
  return {
      example("a convolution", {.mixer = MixerKind::kConvolution, .kernel = 2}),
      example("a depthwise convolution, dropout",
              {.mixer = MixerKind::kConvolution, .dropout = 0.2, .depthwise = true}),
      example("an rnn", {.mixer = MixerKind::kRecurrence, .cell = Cell::kRnn}),
      example("an lstm, no biases", {.mixer = MixerKind::kRecurrence, .bias = false}),
      example("learned mixing", {.mixer = MixerKind::kLearned}),
      example("uniform mixing", {.mixer = MixerKind::kUniform}),
  };
}

}  // namespace

std::vector<OpExamples> model_examples() {
  ModelOptions pre, post, rms, bare;
  pre.num_layers = 2;
  post.norm = NormPlace::kPost;
  post.num_layers = 1;
  post.position = Position::kSinusoidal;
  post.activation = Activation::kRelu;
  post.tie_embeddings = false;
  rms.norm_kind = NormKind::kRms;
  rms.num_layers = 1;
  rms.activation = Activation::kSilu;
  rms.dropout = 0.2;
  bare.num_layers = 1;
  bare.position = Position::kNone;
  bare.activation = Activation::kGeluTanh;
  bare.bias = false;
  bare.scale_scores = false;
  std::vector<OpExample> decoders = {of_tokens("pre-norm, learned positions, tied", pre),
                                     of_tokens("post-norm, sinusoids, relu, untied", post),
                                     of_tokens("RMS norm, silu, dropout", rms),
                                     of_tokens("no positions, no biases, scores not scaled", bare)};
  for (OpExample& example : with_other_mixers()) decoders.push_back(std::move(example));
  return {{.op = "Decoder", .examples = std::move(decoders)}};
}

}  // namespace qkv
