#pragma once

#include "framework/core/text/names.h"

// The options of a model's layers.

namespace qkv {

// The input of a classifier's head: the position of an extra class token, or the mean over all
// positions of the sequence.
enum class Pool { kClassToken, kMean };
template <>
inline constexpr Named<Pool> kNames<Pool>[] = {{"class_token", Pool::kClassToken},
                                               {"mean", Pool::kMean}};

// The cell of a recurrence.
enum class Cell { kRnn, kLstm };
template <>
inline constexpr Named<Cell> kNames<Cell>[] = {{"rnn", Cell::kRnn}, {"lstm", Cell::kLstm}};

// The activation function between the two maps of a feed-forward layer; swiglu has a third map.
enum class Activation { kGelu, kGeluTanh, kRelu, kSilu, kReluSquared, kSwiglu };
template <>
inline constexpr Named<Activation> kNames<Activation>[] = {
    {"gelu", Activation::kGelu},
    {"gelu_tanh", Activation::kGeluTanh},
    {"relu", Activation::kRelu},
    {"silu", Activation::kSilu},
    {"relu_squared", Activation::kReluSquared},
    {"swiglu", Activation::kSwiglu}};

enum class NormKind { kLayer, kRms };
template <>
inline constexpr Named<NormKind> kNames<NormKind>[] = {{"layer", NormKind::kLayer},
                                                       {"rms", NormKind::kRms}};

// Normalization before each layer, after its residual sum, or nowhere.
enum class NormPlace { kPre, kPost, kNone };
template <>
inline constexpr Named<NormPlace> kNames<NormPlace>[] = {
    {"pre", NormPlace::kPre, {"norm_kind", "norm_epsilon"}},
    {"post", NormPlace::kPost, {"norm_kind", "norm_epsilon"}},
    {"none", NormPlace::kNone}};

// Standard deviation of a branch's last weight, which adds to the residual stream: smaller by the
// root of the number of branches, as in GPT-2; or that of all weights; or 0, so that every block
// begins as the identity.
enum class ResidualInit { kScaled, kPlain, kZero };
template <>
inline constexpr Named<ResidualInit> kNames<ResidualInit>[] = {{"scaled", ResidualInit::kScaled},
                                                               {"plain", ResidualInit::kPlain},
                                                               {"zero", ResidualInit::kZero}};

// The position encoding: it is added to the embeddings (sinusoidal, learned), rotates queries and
// keys (rotary), or is added to the scores (alibi, relative).
enum class Position { kNone, kSinusoidal, kLearned, kRotary, kAlibi, kRelative };
template <>
inline constexpr Named<Position> kNames<Position>[] = {
    {"none", Position::kNone},
    {"sinusoidal", Position::kSinusoidal, {"sinusoidal_scale", "learn_sinusoidal_scale"}},
    {"learned", Position::kLearned},
    {"rotary", Position::kRotary, {"attention.rotary_base"}},
    {"alibi", Position::kAlibi, {"attention.alibi_slopes"}},
    {"relative", Position::kRelative}};

// The slopes of ALiBi where the number of heads is not a power of two
// (framework/nn/mixers/position.h); for a power of two both are the same.
enum class AlibiSlopes { kGeometric, kInterpolated };
template <>
inline constexpr Named<AlibiSlopes> kNames<AlibiSlopes>[] = {
    {"geometric", AlibiSlopes::kGeometric}, {"interpolated", AlibiSlopes::kInterpolated}};

// The linear maps that make queries, keys and values: three maps; one map for keys and values; one
// map for all three; no map, which is softmax(X Xᵀ) X.
enum class Projections { kSeparate, kSharedKeyValue, kShared, kNone };
template <>
inline constexpr Named<Projections> kNames<Projections>[] = {
    {"separate", Projections::kSeparate},
    {"shared_key_value", Projections::kSharedKeyValue},
    {"shared", Projections::kShared},
    {"none", Projections::kNone}};

// How heads divide the width: a head is a slice of one full map; or a small map of a slice of the
// input; or a map of its own, as wide as the input.
enum class Heads { kSplit, kNarrow, kWide };
template <>
inline constexpr Named<Heads> kNames<Heads>[] = {
    {"split", Heads::kSplit}, {"narrow", Heads::kNarrow}, {"wide", Heads::kWide}};

}  // namespace qkv
