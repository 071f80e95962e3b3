#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "apps/labs/samples.h"
#include "framework/graph/tensor.h"

namespace qkv {

// What came of so many heads, over the seeds.
struct HeadsCount {
  int64_t heads = 0;
  int64_t parameters = 0;
  double rank = 0;                // of Q Kᵀ, the largest of all heads and seeds
  Samples loss = {}, right = {};  // on unseen examples
  Samples whole = {};             // loss on a few of them
  Samples without = {};           // the same without a head, the mean over the heads
  Samples helps = {};             // share of heads without which it is smaller
  Samples apart = {};             // share of the weights by which two heads differ
  Samples apart_before = {};      // the same before training
  Samples answer = {};            // reverse: weight of the letter that is the answer
  Samples answer_before = {};
  std::vector<Tensor> maps = {};  // weights [T, T] of each head, of one example of the first seed
};

// On one task, the fewest heads first.
struct HeadsTask {
  std::string name;
  int64_t length;
  std::vector<HeadsCount> counts = {};

  const HeadsCount& with_heads(int64_t heads) const {
    return *std::ranges::find(counts, heads, &HeadsCount::heads);
  }
};

// Trains with each of these numbers of heads, and looks at what the heads do.
HeadsTask measure_heads(const LabContext& lab, const std::vector<int64_t>& heads, HeadsTask task);

}  // namespace qkv
