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
  const DataShape data = {
      .vocabulary_size = kVocabulary, .max_length = kLength, .source_length = kSource};
  const Model model(options, data, Initializer(RandomStream(1), DType::f64));
  const size_t read = inputs.size();
  const auto loss = [read](const Model& of_kind, std::span<const Tensor> x) {
    ForwardContext context{.training = true, .random = RandomStream(2)};
    return cross_entropy(of_kind(x.first(read), context), x[read], {.ignored = -1});
  };
  inputs.push_back({Fill::kTargets, {kBatch, kLength}, kVocabulary});
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
  ModelOptions encoders;
  encoders.num_layers = 1;
  return {{.op = "Decoder",
           .examples = {decoder("pre-norm, learned positions, tied", pre),
                        decoder("post-norm, sinusoids, relu, untied", post),
                        decoder("RMS norm, silu, dropout", rms),
                        decoder("no positions, no biases, scores not scaled", bare)}},
          {.op = "EncoderDecoder",
           .examples = {encoder_decoder("pre-norm, learned positions", encoders, false),
                        encoder_decoder("post-norm, sinusoids, padding", post, true)}}};
}

}  // namespace qkv
