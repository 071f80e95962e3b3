#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "absl/status/statusor.h"
#include "models/model.h"
#include "train/generate/generate.h"

namespace qkv {

struct BeamOptions {
  int64_t width = 4;            // how many hypotheses go on, and how many come back
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
// most likely ones are taken until `width` of them go on; those that `ends` are set aside, and take
// no place from the others. Hypotheses are compared by
//   score(Y, X) = log P(Y | X) / lp(Y),   lp(Y) = ((5 + |Y|) / 6)^alpha,
// where |Y| is the number of tokens (Wu et al. 2016, equation 14, without the coverage penalty).
// The search is over as soon as `width` have ended that none of the others can beat, were all its
// further tokens certain. Of equals, the first is what ended first, then what continues the better
// hypothesis, then the lower token. If no continuation falls out, these are the best texts there
// are. An error if a logit is not a finite number; Cancelled after a stop.
absl::StatusOr<std::vector<Hypothesis>> beam_search(
    const Model& model, const Tokens& prompt, int64_t count, const BeamOptions& options,
    const std::function<bool(std::span<const int64_t> written)>& ends = nullptr,
    const std::stop_token& stop = {});

}  // namespace qkv
