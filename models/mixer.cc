#include "models/mixer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "models/attention.h"

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
              "attention.num_key_value_heads", "attention.window", "attention.scale"},
     .make = attention_mixer},
    {.name = "convolution", .keys = {"kernel", "depthwise"}, .make = convolution_mixer},
    {.name = "recurrence", .keys = {"cell"}, .make = recurrence_mixer},
    {.name = "learned", .keys = {"attention.window"}, .limits_length = true, .make = learned_mixer},
    {.name = "uniform", .keys = {"attention.window"}, .make = uniform_mixer}};
static_assert(std::size(kMixers) == std::variant_size_v<decltype(Mixer::kind)>,
              "every layer of framework/nn/mixer.h needs one entry");

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

}  // namespace qkv
