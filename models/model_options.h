#pragma once

#include <cstdint>
#include <string>

#include "framework/nn/layer_options.h"

namespace qkv {

// The variants of attention: the [attention] table of a config.
struct AttentionChoices {
  Projections projections = Projections::kSeparate;
  Heads heads = Heads::kSplit;
  int64_t num_key_value_heads = 0;
  int64_t window = 0;
  int64_t full_every = 0;
  bool causal = true;
  double scale = 0.0;
  bool query_key_norm = false;
  double rotary_base = 10000.0;
  AlibiSlopes alibi_slopes = AlibiSlopes::kGeometric;

  // That of layer 0, 1 … of a stack.
  int64_t window_of(int64_t layer) const {
    return full_every > 0 && (layer + 1) % full_every == 0 ? 0 : window;
  }

  // Each of them: its name, its limits, its meaning.
  template <class Fields>
  void describe(Fields& fields) {
    fields.add("projections", projections, "The linear maps that make queries, keys and values.");
    fields.add("heads", heads, "How the heads divide d_model.");
    fields.add("num_key_value_heads", num_key_value_heads, {.at_least = 0, .at_most = 1 << 16},
               "Number of key and value heads, which the query heads share; 0: num_heads.");
    fields.add("window", window, {.at_least = 0, .at_most = 1 << 20},
               "Maximum distance between a query and the keys that it sees; 0: no limit.");
    fields.add("full_every", full_every, {.at_least = 0, .at_most = 4096},
               "Number of layers after which one has no window; 0: all have it.");
    fields.add(
        "causal", causal,
        "Causal mask: hide later tokens from each token of a decoder; false: the decoder sees the "
        "answer.");
    fields.add("scale", scale, {.at_least = 0},
               "Factor of the attention scores; 0: model.scale_scores decides.");
    fields.add("query_key_norm", query_key_norm,
               "Normalize the queries and the keys of each head (RMS norm).");
    fields.add("rotary_base", rotary_base, {.above = 0},
               "Base of the rotary positions: pair i turns by t rotary_base^(-2i / d_k).");
    fields.add("alibi_slopes", alibi_slopes,
               "How ALiBi's slopes are chosen if num_heads is not a power of two.");
  }
};

// The shape of a model: the [model] table of a config.
struct ModelOptions {
  std::string kind = "decoder";  // one of models/model.h, which reads some of the others
  int64_t num_layers = 2;
  int64_t d_model = 64;
  std::string mixer = "attention";  // one of models/mixer_kind.h, which reads some of the others
  int64_t num_heads = 4;
  int64_t d_ff = 256;
  Position position = Position::kLearned;
  double init_std = 0.02;
  ResidualInit residual_init = ResidualInit::kScaled;
  double sinusoidal_scale = 0.0;
  bool learn_sinusoidal_scale = true;
  NormPlace norm = NormPlace::kPre;
  NormKind norm_kind = NormKind::kLayer;
  double norm_epsilon = 1e-5;
  Activation activation = Activation::kGelu;
  double dropout = 0.0;
  bool scale_scores = true;
  int64_t kernel = 3;
  bool depthwise = false;
  Cell cell = Cell::kLstm;
  bool tie_embeddings = true;
  double logit_cap = 0.0;
  Pool pool = Pool::kClassToken;
  int64_t patch_size = 4;
  bool bias = true;
  AttentionChoices attention = {};

  double factor_of_sinusoids() const { return sinusoidal_scale > 0 ? sinusoidal_scale : init_std; }

  // Each of them: its name, its limits, its meaning.
  template <class Fields>
  void describe(Fields& fields) {
    fields.add("kind", kind, "The architecture.");
    fields.add("num_layers", num_layers, {.at_least = 1, .at_most = 4096},
               "Number of blocks; each has a mixer and a feed-forward network.");
    fields.add("d_model", d_model, {.at_least = 1, .at_most = 1 << 16},
               "Width of the model: the size of a token's vector.");
    fields.add("mixer", mixer, "The layer that passes information between tokens.");
    fields.add("num_heads", num_heads, {.at_least = 1, .at_most = 1 << 16},
               "Number of attention heads; each gets d_model / num_heads features.");
    fields.add("d_ff", d_ff, {.at_least = 1, .at_most = 1 << 20},
               "Hidden width of the feed-forward layers.");
    fields.add("init_std", init_std, {.above = 0},
               "Standard deviation of the initial weights. GPT-2 uses 0.02; narrow models "
               "learn faster with about 1 / sqrt(d_model).");
    fields.add(
        "residual_init", residual_init,
        "Initial standard deviation of the last weight of each layer: divided by the root of "
        "the number of layers that add to the residual stream (scaled), init_std (plain), or 0 "
        "(zero).");
    fields.add("position", position, "The position encoding.");
    fields.add("sinusoidal_scale", sinusoidal_scale, {.at_least = 0},
               "Initial factor of the sinusoidal positions; 0: init_std.");
    fields.add("learn_sinusoidal_scale", learn_sinusoidal_scale,
               "Train the factor of the sinusoidal positions; false: it stays fixed.");
    fields.add(
        "norm", norm,
        "Place of the normalization: before each layer (pre), after its residual sum (post), "
        "or none.");
    fields.add("norm_kind", norm_kind, "Kind of normalization: layer norm or RMS norm.");
    fields.add("norm_epsilon", norm_epsilon, {.above = 0},
               "Number added to the variance (RMS norm: the mean square) before its root.");
    fields.add("activation", activation, "Activation function of the feed-forward layers.");
    fields.add("dropout", dropout, {.at_least = 0, .below = 1},
               "Dropout probability: the fraction of activations that training sets to zero.");
    fields.add("scale_scores", scale_scores, "Divide the attention scores by sqrt(d_k).");
    fields.add("kernel", kernel, {.at_least = 1, .at_most = 1 << 16},
               "Kernel size of the convolution, in tokens.");
    fields.add("depthwise", depthwise, "Convolve each feature separately.");
    fields.add("cell", cell, "The recurrent cell.");
    fields.add("pool", pool,
               "The input of the classifier: an extra class token, or the mean of all positions.");
    fields.add("patch_size", patch_size, {.at_least = 1, .at_most = 4096},
               "Height and width of an image patch, in pixels.");
    fields.add("tie_embeddings", tie_embeddings,
               "Use the token embedding also as the output projection.");
    fields.add("logit_cap", logit_cap, {.at_least = 0},
               "The logits z become c tanh(z / c), with this c; 0: they stay as they are.");
    fields.add("bias", bias,
               "Use biases in linear layers, layer norms, convolutions and recurrences.");
  }
};

}  // namespace qkv
