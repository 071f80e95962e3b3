#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "framework/core/random.h"
#include "framework/nn/key_value_cache.h"
#include "models/model.h"

namespace qkv {

// How the next token is chosen from the model's probabilities.
struct SamplingOptions {
  double temperature = 1.0;  // divides the logits; 0: always the most likely token
  int64_t top_k = 0;         // only among the k most likely; 0: all
  double top_p = 1.0;        // only among the fewest that together have probability p
  uint64_t seed = 1;
};

// The next token after `tokens`; for the `cache` see Decoder::next_logits.
int64_t sample_next(const Model& model, const std::vector<int64_t>& tokens,
                    const SamplingOptions& options, RandomStream& random,
                    KeyValueCache* cache = nullptr);

// `count` tokens that follow `prompt`. `each`, where given, is told every token as it comes, and
// stops the generation by returning false.
std::vector<int64_t> generate(const Model& model, std::vector<int64_t> prompt, int64_t count,
                              const SamplingOptions& options,
                              const std::function<bool(int64_t)>& each = nullptr);

}  // namespace qkv
