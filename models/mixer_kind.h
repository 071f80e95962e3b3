#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "framework/nn/mixers/attention.h"
#include "framework/nn/mixers/mixer.h"
#include "models/model_options.h"

namespace qkv {

// Where a mixer stands.
struct MixerPlace {
  int64_t max_length;         // of the sequences
  bool causal;                // or bidirectional
  double residual_deviation;  // the standard deviation of additions to the residual stream
};

// A value of model.mixer. The list of them is in models/mixer_kind.cc: code that builds,
// configures, saves or checks a model names no mixer, but asks this list.
struct MixerKind {
  std::string_view name;                    // "convolution", as in framework/nn/mixers/mixer.h
  std::initializer_list<const char*> keys;  // the options that it reads: "kernel"
  bool limits_length = false;               // has a table of max_length positions
  Mixer (*make)(Initializer& init, const ModelOptions& options, const MixerPlace& place);

  bool reads(std::string_view key) const;
};
std::span<const MixerKind> mixer_kinds();

// The kind with that name. Throws Error where there is none.
const MixerKind& find_mixer(std::string_view name);

// The mixer that `options` name, of d_model numbers for each token. Throws Error on options that do
// not fit each other.
Mixer make_mixer(Initializer& init, const ModelOptions& options, const MixerPlace& place);

// Whether a model has no table of a limited number of positions.
bool reads_any_length(const ModelOptions& options);

// Attention as `options` say, within one sequence or, without a `position`, to a source: places in
// the one sequence mean nothing in the other. The projections back into the residual stream begin
// with the standard deviation `residual_deviation`. Throws Error on options that do not fit each
// other.
MultiHeadAttention make_attention(Initializer& init, const ModelOptions& options,
                                  double residual_deviation, AttentionPosition position = {});

}  // namespace qkv
