#pragma once

#include <cstdint>
#include <string>

#include "framework/nn/options.h"

namespace qkv {

// The variants of attention: the [attention] table of a config.
struct AttentionChoices {
  Projections projections = Projections::kSeparate;
  Heads heads = Heads::kSplit;
  int64_t num_key_value_heads = 0;  // 0: num_heads
  int64_t window = 0;               // maximum distance from a query to its keys; 0: no limit
  bool causal = true;               // decoders: hides the keys after a query
  double scale = 0.0;               // of the scores; 0: scale_scores decides
  AlibiSlopes alibi_slopes = AlibiSlopes::kGeometric;
};

// The shape of a model: the [model] table of a config.
struct ModelOptions {
  std::string kind = "decoder";  // one of models/model.h, which reads some of the others
  int64_t num_layers = 2;
  int64_t d_model = 64;
  std::string mixer = "attention";  // one of models/mixer.h, which reads some of the others
  int64_t num_heads = 4;
  int64_t d_ff = 256;
  Position position = Position::kLearned;
  double init_std = 0.02;  // of the initial weights; GPT-2's, for a d_model of 768
  ResidualInit residual_init = ResidualInit::kScaled;
  double sinusoidal_scale = 0.0;  // the (initial) factor of the sinusoids; 0: init_std
  bool learn_sinusoidal_scale = true;
  NormPlace norm = NormPlace::kPre;
  NormKind norm_kind = NormKind::kLayer;
  double norm_epsilon = 1e-5;  // is added to the variance, or to the mean square
  Activation activation = Activation::kGelu;
  double dropout = 0.0;
  bool scale_scores = true;    // divide the scores by sqrt(d_k)
  int64_t kernel = 3;          // taps of a convolution
  bool depthwise = false;      // convolves each feature separately
  Cell cell = Cell::kLstm;     // of a recurrence
  bool tie_embeddings = true;  // the output projection is the token embedding
  Pool pool = Pool::kClassToken;
  int64_t patch_size = 4;  // height and width of a patch, in pixels
  bool bias = true;        // in linear layers and layer norms
  AttentionChoices attention = {};

  double factor_of_sinusoids() const { return sinusoidal_scale > 0 ? sinusoidal_scale : init_std; }
};

}  // namespace qkv
