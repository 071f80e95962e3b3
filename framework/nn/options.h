#pragma once

#include "framework/core/names.h"

// What a model can choose of its layers.

namespace qkv {

// What mixes the tokens of a block; each reads options of its own.
enum class MixerKind { kAttention, kConvolution, kRecurrence, kLearned, kUniform };
template <>
inline constexpr Named<MixerKind> kNames<MixerKind>[] = {
    {"attention", MixerKind::kAttention, {"num_heads", "scale_scores"}},
    {"convolution", MixerKind::kConvolution, {"kernel", "depthwise"}},
    {"recurrence", MixerKind::kRecurrence, {"cell"}},
    {"learned", MixerKind::kLearned},
    {"uniform", MixerKind::kUniform}};

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

// How a token knows its place.
enum class Position { kNone, kSinusoidal, kLearned };
template <>
inline constexpr Named<Position> kNames<Position>[] = {{"none", Position::kNone},
                                                       {"sinusoidal", Position::kSinusoidal},
                                                       {"learned", Position::kLearned}};

}  // namespace qkv
