#pragma once

#include <cmath>
#include <vector>

#include "apps/labs/kit/numbers.h"
#include "apps/report/texts/text.h"
#include "framework/core/random.h"
#include "framework/ops/ops.h"

namespace qkv {

// How a layer scores a key for a query.
//   dot       q·k
//   scaled    q·k / √d
//   additive  v·tanh(q + k + b)        Bahdanau et al. 2015; the maps of q and k are its W and U
enum class Score { kDot, kScaled, kAdditive };
Text name_of(Score score);

// The scores of queries [n, d] and keys [m, d].   v, bias [d]: of the additive score   -> [n, m]
Tensor scores_of(Score score, const Tensor& queries, const Tensor& keys, const Tensor& v = {},
                 const Tensor& bias = {});

// The smallest task that needs attention: each of n words belongs to another one, and the layer has
// to tell what is written on that. All words stand there each time, with something else on each.
struct Lookup {
  Score score = Score::kScaled;
  std::vector<int64_t> partners;    // of each word the one that belongs to it
  Tensor words;                     // [n, d]
  Tensor w_q, w_k;                  // [d, d]; they are divided by √d
  Tensor v, bias;                   // [d]: of the additive score
  std::vector<double> losses = {};  // of each step of its training

  double d() const { return static_cast<double>(words.dim(1)); }
  Tensor queries() const { return matmul(words, w_q) / std::sqrt(d()); }
  Tensor keys() const { return matmul(words, w_k) / std::sqrt(d()); }
  Tensor scores() const { return scores_of(score, queries(), keys(), v, bias); }  // [n, n]
  Tensor weights() const { return softmax(scores()); }
  double last_loss() const { return loss_at_end(losses); }
};

struct LookupOptions {
  Score score = Score::kScaled;
  int64_t n = 0, d = 0, steps = 0;
  bool is_lawful = true;  // otherwise another word belongs to it each step
};
// The numbers of q and k begin with variance 1. No steps: as it begins.
Lookup train_lookup(const RandomStream& random, const LookupOptions& options);

// The share of the rows of [n, n] that are largest at the partner of their word.
double share_of_partners(const Lookup& lookup, const Tensor& numbers);
// The error of an even mixture of all words: 1 - 1/n.
inline double blind_error(int64_t n) { return 1 - 1 / static_cast<double>(n); }

}  // namespace qkv
