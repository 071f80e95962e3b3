#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "framework/core/status.h"
#include "models/model.h"
#include "train/evaluate/evaluate.h"
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

// For a terminal, a line for each, "" for none; `token` as it is to be shown.
std::string attention_table(const std::vector<AttentionShare>& shares, const std::string& token);

// The shares of the token with that text, which `qkv eval --attention TOKEN` asks for; of "" none.
absl::StatusOr<std::vector<AttentionShare>> attention_to(const std::string& text,
                                                         const LoadedRun& run, const Model& model,
                                                         const Dataset& dataset,
                                                         int64_t batch_size);

// The results of `qkv eval`, as a JSON object on a line and as text for a terminal. Accuracies are
// there if the data have answers. part: "val" or "train"
std::string evaluation_json(const LoadedRun& run, const Dataset& dataset, const char* part,
                            const Evaluation& e, const std::vector<AttentionShare>& attention = {});
std::string evaluation_text(const LoadedRun& run, const Dataset& dataset, const char* part,
                            const Evaluation& e);

// The same of many runs: a line for each, and such objects as a list.  name: as the user wrote it
class EvaluationsReport {
 public:
  void add(const std::string& name, const LoadedRun& run, const Dataset& dataset, const char* part,
           const Evaluation& e);
  bool empty() const { return objects_.empty(); }
  std::string table() const;
  std::string json() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::string> objects_;
};

}  // namespace qkv
