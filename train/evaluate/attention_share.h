#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "models/model.h"
#include "train/folder/loaded_run.h"

namespace qkv {

// The attention of a head at the position that predicts the first token of the answer, as the mean
// over all validation examples.
struct AttentionShare {
  std::string layer;  // "blocks.0.attention"
  int64_t head = 0;
  double to_token = 0;   // the weight of all keys that are the token
  double to_answer = 0;  // the weight of all keys that are the first token of the answer itself
};

// One entry for each head of each layer that attends to the question: self-attention of a decoder,
// cross-attention of an encoder-decoder. Empty where the model has no such layer.
std::vector<AttentionShare> attention_shares(const Model& model, const Dataset& dataset,
                                             int64_t token, int64_t batch_size);

// For a terminal, a line for each, "" for none; `token` as it is to be shown.
std::string attention_table(const std::vector<AttentionShare>& shares, const std::string& token);

// The shares of the token with that text, which `qkv eval --attention TOKEN` asks for; of "" none.
absl::StatusOr<std::vector<AttentionShare>> attention_to(const std::string& text,
                                                         const LoadedRun& run, const Model& model,
                                                         const Dataset& dataset,
                                                         int64_t batch_size);

}  // namespace qkv
