#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "framework/core/random.h"
#include "framework/nn/key_value_cache.h"
#include "models/model.h"

namespace qkv {

// How the next token is chosen from the model's probabilities.
struct SamplingOptions {
  double temperature = 1.0;  // divides the logits; 0: always the most likely token
  int64_t top_k = 0;         // samples from the k most likely tokens; 0: all
  double top_p = 1.0;        // samples from the fewest tokens whose probabilities sum to p
  uint64_t seed = 1;
  uint64_t sample = 0;  // which text with this seed: each has random numbers of its own
};

using Tokens = std::vector<int64_t>;
using EachTokenOf = std::function<bool(size_t prompt, int64_t token)>;

// The next token after `prompt` and `written`; for the `cache` see Model::next_logits.
int64_t sample_next(const Model& model, const Tokens& prompt, const Tokens& written,
                    const SamplingOptions& options, RandomStream& random,
                    KeyValueCache* cache = nullptr);

// The logits of Model::next_logits. An error if one of them is not a finite number.
absl::StatusOr<std::vector<double>> finite_logits(const Model& model, const Array& prompts,
                                                  const Array& written, KeyValueCache* cache);

// `count` tokens after `prompt`. `each`, where given, is called with every new token, and stops the
// generation by returning false. An error if a logit is not a finite number.
absl::StatusOr<Tokens> generate(const Model& model, const Tokens& prompt, int64_t count,
                                const SamplingOptions& options,
                                const std::function<bool(int64_t)>& each = nullptr);

// The same for many prompts, with the same results but for rounding. Prompts of one length are read
// together. `each`, where given, is called with the number of the prompt, too; returning false, it
// stops the text after that prompt.
absl::StatusOr<std::vector<Tokens>> generate_all(const Model& model,
                                                 const std::vector<Tokens>& prompts, int64_t count,
                                                 const SamplingOptions& options,
                                                 const EachTokenOf& each = nullptr);

}  // namespace qkv
