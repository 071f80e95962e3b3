#pragma once

#include "framework/core/names.h"

// What a model can choose of its layers.

namespace qkv {

// What mixes the tokens of a block; each reads options of its own.
enum class MixerKind { kAttention, kConvolution, kRecurrence, kLearned, kUniform };
template <>
inline constexpr Named<MixerKind> kNames<MixerKind>[] = {
    {"attention",
     MixerKind::kAttention,
     {"num_heads", "scale_scores", "attention.projections", "attention.heads",
      "attention.num_key_value_heads", "attention.window", "attention.scale"}},
    {"convolution", MixerKind::kConvolution, {"kernel", "depthwise"}},
    {"recurrence", MixerKind::kRecurrence, {"cell"}},
    {"learned", MixerKind::kLearned},
    {"uniform", MixerKind::kUniform}};

// What a classifier makes of all the positions of a sequence: that of a token which stands for the
// class, or their mean.
enum class Pool { kClassToken, kMean };
template <>
inline constexpr Named<Pool> kNames<Pool>[] = {{"class_token", Pool::kClassToken},
                                               {"mean", Pool::kMean}};

// Of a recurrence.
enum class Cell { kRnn, kLstm };
template <>
inline constexpr Named<Cell> kNames<Cell>[] = {{"rnn", Cell::kRnn}, {"lstm", Cell::kLstm}};

// Between the two maps of a feed-forward layer.
enum class Activation { kGelu, kGeluTanh, kRelu, kSilu };
template <>
inline constexpr Named<Activation> kNames<Activation>[] = {{"gelu", Activation::kGelu},
                                                           {"gelu_tanh", Activation::kGeluTanh},
                                                           {"relu", Activation::kRelu},
                                                           {"silu", Activation::kSilu}};

enum class NormKind { kLayer, kRms };
template <>
inline constexpr Named<NormKind> kNames<NormKind>[] = {{"layer", NormKind::kLayer},
                                                       {"rms", NormKind::kRms}};

// Normalization before each layer, or after its sum with the input.
enum class NormPlace { kPre, kPost };
template <>
inline constexpr Named<NormPlace> kNames<NormPlace>[] = {{"pre", NormPlace::kPre},
                                                         {"post", NormPlace::kPost}};

// How a token knows its place: by what is added to its embedding (sinusoidal, learned), by what is
// done to queries and keys (rotary), or by what is added to the scores (alibi, relative).
enum class Position { kNone, kSinusoidal, kLearned, kRotary, kAlibi, kRelative };
template <>
inline constexpr Named<Position> kNames<Position>[] = {
    {"none", Position::kNone},
    {"sinusoidal", Position::kSinusoidal, {"sinusoidal_scale", "learn_sinusoidal_scale"}},
    {"learned", Position::kLearned},
    {"rotary", Position::kRotary},
    {"alibi", Position::kAlibi, {"attention.alibi_slopes"}},
    {"relative", Position::kRelative}};

// How fast the scores of each head fall with ALiBi, where the number of heads is no power of two
// (framework/nn/attention_position.h); where it is one, both are the same.
enum class AlibiSlopes { kGeometric, kInterpolated };
template <>
inline constexpr Named<AlibiSlopes> kNames<AlibiSlopes>[] = {
    {"geometric", AlibiSlopes::kGeometric}, {"interpolated", AlibiSlopes::kInterpolated}};

// The maps that make queries, keys and values: one for each; one for keys and values; one for all;
// none, which is softmax(X Xᵀ) X.
enum class Projections { kSeparate, kSharedKeyValue, kShared, kNone };
template <>
inline constexpr Named<Projections> kNames<Projections>[] = {
    {"separate", Projections::kSeparate},
    {"shared_key_value", Projections::kSharedKeyValue},
    {"shared", Projections::kShared},
    {"none", Projections::kNone}};

// What a head gets: a part of what one map makes of the input; what a small map of its own makes of
// a part of the input; what a map of its own, as wide as the input, makes of it.
enum class Heads { kSplit, kNarrow, kWide };
template <>
inline constexpr Named<Heads> kNames<Heads>[] = {
    {"split", Heads::kSplit}, {"narrow", Heads::kNarrow}, {"wide", Heads::kWide}};

}  // namespace qkv
