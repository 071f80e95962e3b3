#pragma once

#include <cstdint>
#include <string>

#include "framework/nn/options.h"

namespace qkv {

// The shape of a model: the [model] table of a config.
struct ModelOptions {
  std::string kind = "decoder";  // one of models/model.h, which reads some of the others
  int64_t num_layers = 2;
  int64_t d_model = 64;
  MixerKind mixer = MixerKind::kAttention;  // which reads some of the others
  int64_t num_heads = 4;
  int64_t d_ff = 256;
  Position position = Position::kLearned;
  NormPlace norm = NormPlace::kPre;
  NormKind norm_kind = NormKind::kLayer;
  Activation activation = Activation::kGelu;
  double dropout = 0.0;
  bool scale_scores = true;    // divide the scores by sqrt(d_k)
  int64_t kernel = 3;          // taps of a convolution
  bool depthwise = false;      // a convolution sums each number by itself
  Cell cell = Cell::kLstm;     // of a recurrence
  bool tie_embeddings = true;  // the output projection is the token embedding
  bool bias = true;            // in linear layers and layer norms
};

}  // namespace qkv
