#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "framework/core/random.h"
#include "framework/core/status.h"
#include "framework/nn/mixers/key_value_cache.h"
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

struct BeamOptions {
  int64_t width = 4;            // how many hypotheses are continued, and returned
  double length_penalty = 0.6;  // alpha below; 0: none
};

// A possible answer Y to a prompt X.
struct Hypothesis {
  Tokens tokens = {};
  double log_probability = 0;  // log P(Y | X), the sum over its tokens
  double score = 0;
};

// Searches the most likely texts of at most `count` tokens after `prompt`, and gives `width` or
// fewer, the best first. In each step, every hypothesis is continued by every token. Of these, the
// most likely ones are taken until `width` of them continue; those that `ends` are set aside, and
// take no place from the others. Hypotheses are compared by
//   score(Y, X) = log P(Y | X) / lp(Y),   lp(Y) = ((5 + |Y|) / 6)^alpha,
// where |Y| is the number of tokens (Wu et al. 2016, equation 14, without the coverage penalty).
// The search is over as soon as `width` have ended that none of the others can beat, were all its
// further tokens certain. Of equals, the first to end comes first, then the better hypothesis
// continued, then the lower token. If no continuation falls out, these are the best texts there
// are. An error if a logit is not a finite number; Cancelled after a stop.
absl::StatusOr<std::vector<Hypothesis>> beam_search(
    const Model& model, const Tokens& prompt, int64_t count, const BeamOptions& options,
    const std::function<bool(std::span<const int64_t> written)>& ends = nullptr,
    const std::stop_token& stop = {});

}  // namespace qkv
