#include "models/examples.h"

#include "framework/nn/examples.h"
#include "framework/ops/ops.h"
#include "models/model.h"

namespace qkv {
namespace {

constexpr int64_t kVocabulary = 5, kBatch = 2, kLength = 4, kSource = 3;

// `inputs` are those of a batch, without its targets.
OpExample of_kind(const char* kind, const char* name, ModelOptions options,
                  std::vector<ExampleInput> inputs, std::vector<std::string> input_names) {
  options.kind = kind;
  options.d_model = 4;
  options.num_heads = 2;
  options.d_ff = 6;
  DataShape data = {.vocabulary_size = kVocabulary,
                    .max_length = kLength,
                    .source_length = kSource,
                    .classes = kVocabulary};
  if (inputs.front().shape.rank() == 4) data.channels = 1, data.height = 4, data.width = 2;
  const Model model(options, data, Initializer(RandomStream(1), DType::f64));
  const size_t read = inputs.size();
  const auto loss = [read](const Model& of_kind, std::span<const Tensor> x) {
    ForwardContext context{.training = true, .random = RandomStream(2)};
    return cross_entropy(of_kind(x.first(read), context), x[read], {.ignored = -1});
  };
  const bool one_class = form_of(kind) == DataForm::kClass;
  const Shape targets = one_class ? Shape{kBatch} : Shape{kBatch, kLength};
  inputs.push_back({Fill::kTargets, targets, kVocabulary});
  input_names.emplace_back("targets");
  return module_example(name, model, std::move(inputs), std::move(input_names), loss);
}

ExampleInput tokens(int64_t length) { return {Fill::kIndices, {kBatch, length}, kVocabulary}; }

OpExample decoder(const char* name, const ModelOptions& options) {
  return of_kind("decoder", name, options, {tokens(kLength)}, {"tokens"});
}

OpExample encoder_decoder(const char* name, const ModelOptions& options, bool padded) {
  std::vector<ExampleInput> inputs = {tokens(kSource), tokens(kLength)};
  std::vector<std::string> names = {"source", "target"};
  if (padded) {
    inputs.push_back({Fill::kMask, {kBatch, kSource}});
    names.emplace_back("padding");
  }
  return of_kind("encoder_decoder", name, options, std::move(inputs), std::move(names));
}

OpExample classifier(const char* name, const ModelOptions& options, bool padded) {
  std::vector<ExampleInput> inputs = {tokens(kLength)};
  std::vector<std::string> names = {"tokens"};
  if (padded) {
    inputs.push_back({Fill::kMask, {kBatch, kLength}});
    names.emplace_back("padding");
  }
  return of_kind("classifier", name, options, std::move(inputs), std::move(names));
}

OpExample image_classifier(const char* name, ModelOptions options) {
  options.patch_size = 2;
  return of_kind("classifier", name, options, {{Fill::kNormal, {kBatch, 1, 4, 2}}}, {"pixels"});
}

// A decoder of one block with each mixer but attention.
std::vector<OpExample> with_other_mixers() {
  const auto example = [](const char* name, ModelOptions options) {
    options.num_layers = 1;
    options.position = Position::kNone;
    return decoder(name, options);
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
  ModelOptions encoders, mean = post;
  encoders.num_layers = 1;
  mean.pool = Pool::kMean;
  std::vector<OpExample> decoders = {decoder("pre-norm, learned positions, tied", pre),
                                     decoder("post-norm, sinusoids, relu, untied", post),
                                     decoder("RMS norm, silu, dropout", rms),
                                     decoder("no positions, no biases, scores not scaled", bare)};
  for (OpExample& example : with_other_mixers()) decoders.push_back(std::move(example));
  return {{.op = "Decoder", .examples = std::move(decoders)},
          {.op = "EncoderDecoder",
           .examples = {encoder_decoder("pre-norm, learned positions", encoders, false),
                        encoder_decoder("post-norm, sinusoids, padding", post, true)}},
          {.op = "Classifier",
           .examples = {classifier("a class token, padding", encoders, true),
                        classifier("the mean, post-norm", mean, false),
                        classifier("the mean, padding", mean, true),
                        image_classifier("patches, a class token", encoders)}}};
}

}  // namespace qkv
