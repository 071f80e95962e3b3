#include "models/mixer.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"

namespace qkv {
namespace {

constexpr double kDeviation = 0.02;

MultiHeadAttention make_attention(Initializer& init, const ModelOptions& o,
                                  double residual_deviation) {
  const int64_t c = o.d_model;
  if (o.num_heads < 1 || c % o.num_heads != 0) {
    fail(absl::StrCat("transformer: num_heads ", o.num_heads, " does not divide d_model ", c));
  }
  return {.query = Linear(init, c, c, o.bias, kDeviation, /*rounds=*/true),
          .key = Linear(init, c, c, o.bias, kDeviation, /*rounds=*/true),
          .value = Linear(init, c, c, o.bias, kDeviation, /*rounds=*/true),
          .output = Linear(init, c, c, o.bias, residual_deviation),
          .num_heads = o.num_heads,
          .scale_scores = o.scale_scores,
          .weight_dropout = {o.dropout},
          .output_dropout = {o.dropout}};
}

template <class Layer>
Mixer with_dropout(Layer layer, double p) {
  layer.output_dropout = {p};
  return {std::move(layer)};
}

}  // namespace

Mixer make_mixer(Initializer& init, const ModelOptions& o, int64_t max_length, bool causal) {
  const double residual_deviation = kDeviation / std::sqrt(2.0 * static_cast<double>(o.num_layers));
  switch (o.mixer) {
    case MixerKind::kAttention:
      return {make_attention(init, o, residual_deviation)};
    case MixerKind::kConvolution:
      if (o.kernel < 1) fail(absl::StrCat("convolution: kernel ", o.kernel, " is below 1"));
      return with_dropout(
          Convolution(init, o.d_model, o.kernel, o.depthwise, o.bias, residual_deviation),
          o.dropout);
    case MixerKind::kRecurrence:
      return with_dropout(Recurrence(init, o.d_model, o.cell, /*both_directions=*/!causal, o.bias,
                                     residual_deviation),
                          o.dropout);
    case MixerKind::kLearned:
      return with_dropout(LearnedMixing(init, max_length), o.dropout);
    case MixerKind::kUniform:
      break;
  }
  return with_dropout(UniformMixing(), o.dropout);
}

}  // namespace qkv
