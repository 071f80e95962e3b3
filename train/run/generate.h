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

using Tokens = std::vector<int64_t>;

// The next token after `prompt` and `written`; for the `cache` see Model::next_logits.
int64_t sample_next(const Model& model, const Tokens& prompt, const Tokens& written,
                    const SamplingOptions& options, RandomStream& random,
                    KeyValueCache* cache = nullptr);

// `count` tokens that follow `prompt`. `each`, where given, is told every token as it comes, and
// stops the generation by returning false.
Tokens generate(const Model& model, const Tokens& prompt, int64_t count,
                const SamplingOptions& options, const std::function<bool(int64_t)>& each = nullptr);

// The same of many prompts at a time: what each gives alone. Those of one length are read together.
std::vector<Tokens> generate_all(const Model& model, const std::vector<Tokens>& prompts,
                                 int64_t count, const SamplingOptions& options);

}  // namespace qkv
