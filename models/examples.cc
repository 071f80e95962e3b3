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
  return {{.op = "Decoder",
           .examples = {of_tokens("pre-norm, learned positions, tied", pre),
                        of_tokens("post-norm, sinusoids, relu, untied", post),
                        of_tokens("RMS norm, silu, dropout", rms),
                        of_tokens("no positions, no biases, scores not scaled", bare)}}};
}

}  // namespace qkv
