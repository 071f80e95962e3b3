#pragma once

#include <cstdint>
#include <string>

#include "framework/nn/options.h"

namespace qkv {

// What attention is made of: the [attention] table of a config.
struct AttentionChoices {
  Projections projections = Projections::kSeparate;
  Heads heads = Heads::kSplit;
  int64_t num_key_value_heads = 0;  // 0: num_heads
  int64_t window = 0;               // keys at most so far from a query are seen; 0: all
  bool causal = true;               // in decoders: no key after the query is seen
  double scale = 0.0;               // of the scores; 0: as scale_scores says
  AlibiSlopes alibi_slopes = AlibiSlopes::kGeometric;
};

// The shape of a model: the [model] table of a config.
struct ModelOptions {
  std::string kind = "decoder";  // one of models/model.h, which reads some of the others
  int64_t num_layers = 2;
  int64_t d_model = 64;
  MixerKind mixer = MixerKind::kAttention;  // which reads some of the others
  int64_t num_heads = 4;
  int64_t d_ff = 256;
  Position position = Position::kLearned;
  // Of what is added to embeddings, whose own deviation is 0.02; learned: to begin with.
  double sinusoidal_scale = 0.02;
  bool learn_sinusoidal_scale = true;
  NormPlace norm = NormPlace::kPre;
  NormKind norm_kind = NormKind::kLayer;
  Activation activation = Activation::kGelu;
  double dropout = 0.0;
  bool scale_scores = true;    // divide the scores by sqrt(d_k)
  int64_t kernel = 3;          // taps of a convolution
  bool depthwise = false;      // a convolution sums each number by itself
  Cell cell = Cell::kLstm;     // of a recurrence
  bool tie_embeddings = true;  // the output projection is the token embedding
  Pool pool = Pool::kClassToken;
  int64_t patch_size = 4;  // pixels of an image's patch, each way
  bool bias = true;        // in linear layers and layer norms
  AttentionChoices attention = {};
};

// Whether a model has no table of positions that ends.
inline bool reads_any_length(const ModelOptions& options) {
  return options.position != Position::kLearned && options.mixer != MixerKind::kLearned;
}

}  // namespace qkv
