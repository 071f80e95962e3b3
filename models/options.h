#pragma once

#include <cstdint>

#include "framework/core/names.h"
#include "framework/nn/options.h"

namespace qkv {

// Each with the options that it reads.
enum class ModelKind { kDecoder };
template <>
inline constexpr Named<ModelKind> kNames<ModelKind>[] = {
    {"decoder",
     ModelKind::kDecoder,
     {"num_layers", "d_model", "num_heads", "d_ff", "position", "norm", "norm_kind", "activation",
      "dropout", "scale_scores", "tie_embeddings", "bias"}},
};

// The shape of a transformer: the [model] table of a config.
struct ModelOptions {
  ModelKind kind = ModelKind::kDecoder;
  int64_t num_layers = 2;
  int64_t d_model = 64;
  int64_t num_heads = 4;
  int64_t d_ff = 256;
  Position position = Position::kLearned;
  NormPlace norm = NormPlace::kPre;
  NormKind norm_kind = NormKind::kLayer;
  Activation activation = Activation::kGelu;
  double dropout = 0.0;
  bool scale_scores = true;    // divide the scores by sqrt(d_k)
  bool tie_embeddings = true;  // the output projection is the token embedding
  bool bias = true;            // in linear layers and layer norms
};

}  // namespace qkv
