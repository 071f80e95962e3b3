#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "framework/graph/tensor.h"
#include "models/mixer_kind.h"
#include "models/model.h"

namespace qkv {

// A model, and what it has that its neighbours have not.
struct ChosenModel {
  std::string name;
  ModelOptions options;
  bool has_images = false;
};

// Each kind with each mixer, and with attention each of its choices; `base` says the rest.
inline std::vector<ChosenModel> every_choice(const ModelOptions& base) {
  std::vector<ChosenModel> all;
  const auto add = [&](std::string name, const auto& change, bool has_images = false) {
    all.push_back({std::move(name), base, has_images});
    change(all.back().options);
  };
  for (const ModelKind& kind : model_kinds()) {
    if (std::ranges::count(kind.keys, "mixer") == 0) continue;
    for (const MixerKind& mixer : mixer_kinds()) {
      for (const bool second : {false, true}) {
        const bool is_of_two = mixer.name == "convolution" || mixer.name == "recurrence";
        if (second && !is_of_two) continue;
        add(kind.name + ", " + std::string(mixer.name) + (second ? ", depthwise or lstm" : ""),
            [&](auto& o) {
              o.kind = kind.name;
              o.mixer = mixer.name;
              o.depthwise = second;
              o.cell = second ? Cell::kLstm : Cell::kRnn;
            });
      }
    }
  }
  const auto classifier = [](Pool pool) {
    return [pool](ModelOptions& o) { o.kind = Classifier::kName, o.pool = pool; };
  };
  add("classifier of tokens, mean", classifier(Pool::kMean));
  add("classifier of images, class token", classifier(Pool::kClassToken), /*has_images=*/true);
  add("classifier of images, mean", classifier(Pool::kMean), /*has_images=*/true);
  for (const Named<Position>& position : kNames<Position>) {
    add(std::string("position ") + position.name, [&](auto& o) { o.position = position.value; });
  }
  for (const Named<Projections>& maps : kNames<Projections>) {
    add(std::string("projections ") + maps.name,
        [&](auto& o) { o.attention.projections = maps.value; });
  }
  for (const Named<Heads>& heads : kNames<Heads>) {
    add(std::string("heads ") + heads.name, [&](auto& o) { o.attention.heads = heads.value; });
  }
  add("grouped heads", [](auto& o) { o.attention.num_key_value_heads = 1; });
  add("a window", [](auto& o) { o.attention.window = 2; });
  add("not causal", [](auto& o) { o.attention.causal = false; });
  for (const Named<AlibiSlopes>& slopes : kNames<AlibiSlopes>) {
    add(std::string("slopes ") + slopes.name, [&](auto& o) {
      o.position = Position::kAlibi;
      o.attention.alibi_slopes = slopes.value;
    });
  }
  add("a scale", [](auto& o) { o.attention.scale = 0.4; });
  return all;
}

// What such a model reads, and the targets of its logits: tokens of `vocabulary`, numbers in a row;
// of images 2 channels of 4 x (length) pixels; each second question is padded.
struct ModelBatch {
  std::vector<Tensor> inputs;
  Tensor targets;
};

inline ModelBatch batch_for(const ChosenModel& chosen, int64_t rows, int64_t length,
                            int64_t vocabulary) {
  const auto tokens = [=](const Shape& shape) {
    Array array(shape, DType::i64);
    for (int64_t i = 0; i < array.size(); ++i) {
      array.mutable_data<int64_t>()[i] = (i * i + i / 7) % vocabulary;
    }
    return Tensor(array);
  };
  Array padding({rows, length}, DType::boolean);
  for (int64_t i = 0; i < rows * length; ++i) {
    padding.mutable_data<bool>()[i] = i / length % 2 == 1 && i % length >= length - 2;
  }
  const Shape both = {rows, length};
  switch (form_of(chosen.options.kind)) {
    case DataForm::kSequence:
      return {{tokens(both)}, tokens(both)};
    case DataForm::kSourceTarget:
      return {{tokens(both), tokens(both), Tensor(padding)}, tokens(both)};
    case DataForm::kClass:
      break;
  }
  if (!chosen.has_images) return {{tokens(both), Tensor(padding)}, tokens({rows})};
  Array pixels({rows, 2, 4, length}, DType::f32);
  for (int64_t i = 0; i < pixels.size(); ++i) {
    pixels.mutable_data<float>()[i] = static_cast<float>(i * i % 101) / 101.0F;
  }
  return {{Tensor(pixels)}, tokens({rows})};
}

inline DataShape data_for(const ChosenModel& chosen, int64_t length, int64_t vocabulary) {
  if (chosen.has_images) {
    return {.vocabulary_size = vocabulary,
            .classes = vocabulary,
            .channels = 2,
            .height = 4,
            .width = length};
  }
  return {.vocabulary_size = vocabulary,
          .max_length = length,
          .source_length = length,
          .classes = vocabulary};
}

}  // namespace qkv
