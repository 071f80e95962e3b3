#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "models/model.h"

namespace qkv {

// Where a head looks when the answer is given: from the place that the first token of the answer is
// told from, the mean over all validation examples.
struct AttentionShare {
  std::string layer;  // "blocks.0.attention"
  int64_t head = 0;
  double to_token = 0;   // the weight of all keys that are the token
  double to_answer = 0;  // the weight of all keys that are the first token of the answer itself
};

// One for each head of each layer that attends to the question: self-attention of a decoder,
// cross-attention of an encoder-decoder; none where the model has no such layer.
std::vector<AttentionShare> attention_shares(const Model& model, const Dataset& dataset,
                                             int64_t token, int64_t batch_size);

}  // namespace qkv
