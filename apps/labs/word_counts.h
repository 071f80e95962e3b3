#pragma once

#include <vector>

#include "apps/labs/samples.h"

namespace qkv {

// What the counts of words that stand in one sentence say of nouns: those of which the same
// possessive is said (its, their, his, her) and others. A number for each corpus.
struct WordCounts {
  Samples within, between;  // cosines of two nouns, on the mean
  double one_hot = 0;       // the largest cosine of two nouns
  HeatMap map;              // the cosines of all nouns, of the first corpus
};

// A corpus of the sentences of the task reference for each seed. `shuffled`: its words stand in
// any sentence.
WordCounts count_words(const std::vector<uint64_t>& seeds, bool shuffled);

}  // namespace qkv
