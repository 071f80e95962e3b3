#pragma once

#include <optional>

#include "apps/labs/lab.h"
#include "apps/labs/samples.h"
#include "framework/nn/linear.h"
#include "models/mixer.h"

// A question that only what chooses can answer: of a sentence one token is marked, every time
// another, and its number is asked for.
namespace qkv {

using AttentionLayer = NotedChild<"attention", MultiHeadAttention>;
using LearnedLayer = NotedChild<"learned", LearnedMixing>;

// One that hears of both sides. In the main control the scores of attention are all 0.
Mixer make_layer(const LabContext& lab, const std::string& kind, const RandomStream& random,
                 bool projects = true);

// What is to find the marked token.
struct Finder {
  std::string mixer;           // as in model.mixer
  std::string below = {};      // the mixer under it; "": none
  bool bends = false;          // a ReLU stands between the two
  bool is_asked_from = false;  // its queries come from another sequence
};

// What a trained finder comes to.
struct Found {
  double left;       // the share of the answers' variance
  double moved = 0;  // the same, with the weights of attention moved half a sentence on
  std::optional<Tensor> weights = {};  // of attention, for the sentences of the last test
  Tensor places = {};                  // where the marked token stands in them, [B]
};

// A training for each seed of the lab, by its options n, d and steps.
std::vector<Found> find_marked(const LabContext& lab, const Finder& finder);
Samples left_of(const std::vector<Found>& all);
Samples moved_of(const std::vector<Found>& all);

}  // namespace qkv
