#include "models/mixer_kind.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"

namespace qkv {
namespace {

template <class Layer>
Mixer with_dropout(Layer layer, double p) {
  layer.output_dropout = {p};
  return {std::move(layer)};
}

Mixer attention_mixer(Initializer& init, const ModelOptions& o, const MixerPlace& place) {
  AttentionPosition position(init, o.position, o.num_heads, place.max_length,
                             /*both_sides=*/!place.causal);
  position.slopes = o.attention.alibi_slopes;
  position.rotary_base = o.attention.rotary_base;
  return {make_attention(init, o, place.residual_deviation, std::move(position))};
}

Mixer convolution_mixer(Initializer& init, const ModelOptions& o, const MixerPlace& place) {
  if (o.kernel < 1) fail(absl::StrCat("convolution: kernel ", o.kernel, " is below 1"));
  return with_dropout(
      Convolution(init, o.d_model, o.kernel, o.depthwise, o.bias, place.residual_deviation),
      o.dropout);
}

Mixer recurrence_mixer(Initializer& init, const ModelOptions& o, const MixerPlace& place) {
  return with_dropout(Recurrence(init, o.d_model, o.cell, /*both_directions=*/!place.causal, o.bias,
                                 place.residual_deviation),
                      o.dropout);
}

Mixer learned_mixer(Initializer& init, const ModelOptions& o, const MixerPlace& place) {
  return with_dropout(LearnedMixing(init, place.max_length), o.dropout);
}

Mixer uniform_mixer(Initializer& /*init*/, const ModelOptions& o, const MixerPlace& /*place*/) {
  return with_dropout(UniformMixing(), o.dropout);
}

constexpr MixerKind kMixers[] = {
    {.name = "attention",
     .keys = {"num_heads", "scale_scores", "attention.projections", "attention.heads",
              "attention.num_key_value_heads", "attention.window", "attention.full_every",
              "attention.scale", "attention.query_key_norm"},
     .make = attention_mixer},
    {.name = "convolution", .keys = {"kernel", "depthwise"}, .make = convolution_mixer},
    {.name = "recurrence", .keys = {"cell"}, .make = recurrence_mixer},
    {.name = "learned",
     .keys = {"attention.window", "attention.full_every"},
     .limits_length = true,
     .make = learned_mixer},
    {.name = "uniform",
     .keys = {"attention.window", "attention.full_every"},
     .make = uniform_mixer}};
static_assert(std::size(kMixers) == std::variant_size_v<decltype(Mixer::kind)>,
              "every layer of framework/nn/mixers/mixer.h needs one entry");

void check_heads(const ModelOptions& o) {
  if (o.num_heads < 1 || o.d_model % o.num_heads != 0) {
    fail(absl::StrCat("transformer: num_heads ", o.num_heads, " does not divide d_model ",
                      o.d_model));
  }
  const int64_t key_heads = o.attention.num_key_value_heads;
  if (key_heads > 0 && o.num_heads % key_heads != 0) {
    fail(absl::StrCat("transformer: num_key_value_heads ", key_heads, " does not divide num_heads ",
                      o.num_heads));
  }
}

// A map from C numbers to those of `heads` heads, or with `back` from them; num_heads of them are
// of queries.
Projection make_projection(Initializer& init, const ModelOptions& o, int64_t heads,
                           double deviation, bool back = false) {
  const int64_t c = o.d_model;
  const AttentionChoices& a = o.attention;
  if (a.projections == Projections::kNone) return Identity();
  if (a.heads == Heads::kNarrow && !back) {
    return PartsLinear(init, heads, c, o.bias, deviation);
  }
  const int64_t width = a.heads == Heads::kWide ? c : c / o.num_heads;  // D
  if (back) return Linear(init, heads * width, c, o.bias, deviation);
  return Linear(init, c, heads * width, o.bias, deviation, /*rounds=*/true);
}

}  // namespace

bool MixerKind::reads(std::string_view key) const {
  return std::ranges::find(keys, key) != keys.end();
}

std::span<const MixerKind> mixer_kinds() { return kMixers; }

const MixerKind& find_mixer(std::string_view name) {
  const auto* const found = std::ranges::find(kMixers, name, &MixerKind::name);
  if (found == std::end(kMixers)) {
    fail(absl::StrCat("model: there is no mixer \"", std::string(name), "\""));
  }
  return *found;
}

Mixer make_mixer(Initializer& init, const ModelOptions& options, const MixerPlace& place) {
  return find_mixer(options.mixer).make(init, options, place);
}

bool reads_any_length(const ModelOptions& options) {
  return options.position != Position::kLearned && !find_mixer(options.mixer).limits_length;
}

MultiHeadAttention make_attention(Initializer& init, const ModelOptions& o,
                                  double residual_deviation, AttentionPosition position) {
  check_heads(o);
  const AttentionChoices& a = o.attention;
  const int64_t key_heads = a.num_key_value_heads > 0 ? a.num_key_value_heads : o.num_heads;
  MultiHeadAttention attention;
  attention.projections = a.projections;
  if (a.projections == Projections::kSeparate || a.projections == Projections::kSharedKeyValue) {
    attention.query = make_projection(init, o, o.num_heads, o.init_std);
  }
  if (a.projections == Projections::kSeparate) {
    attention.key = make_projection(init, o, key_heads, o.init_std);
  }
  attention.value = make_projection(init, o, key_heads, o.init_std);
  attention.output = make_projection(init, o, o.num_heads, residual_deviation, /*back=*/true);
  attention.num_heads = o.num_heads;
  attention.num_key_value_heads = key_heads;
  attention.scale_scores = o.scale_scores;
  if (a.query_key_norm) {
    const int64_t width = a.heads == Heads::kWide ? o.d_model : o.d_model / o.num_heads;  // D
    attention.normalizes = true;
    attention.query_norm = RmsNorm(init, width);
    attention.key_norm = RmsNorm(init, width);
  }
  if (a.scale != 0) attention.scale = a.scale;
  attention.position = std::move(position);
  attention.weight_dropout = attention.output_dropout = {o.dropout};
  return attention;
}

}  // namespace qkv
