#pragma once

#include <cstdint>
#include <string>

namespace qkv {

// The shape of a transformer: the [model] table of a config.
struct ModelOptions {
  std::string kind = "decoder";
  int64_t num_layers = 2;
  int64_t d_model = 64;
  int64_t num_heads = 4;
  int64_t d_ff = 256;
  std::string position = "learned";  // "none", "sinusoidal", "learned"
  std::string norm = "pre";          // "pre", "post"
  std::string norm_kind = "layer";   // "layer", "rms"
  std::string activation = "gelu";   // "gelu", "gelu_tanh", "relu", "silu"
  double dropout = 0.0;
  bool scale_scores = true;    // divide the scores by sqrt(d_k)
  bool tie_embeddings = true;  // the output projection is the token embedding
  bool bias = true;            // in linear layers and layer norms
};

}  // namespace qkv
