#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "train/evaluate/attention_share.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/loaded_run.h"

namespace qkv {

// What `qkv eval` says of a run, as a JSON object on a line and as text for a terminal. Accuracies
// are there if the data have answers.  part: "val" or "train"
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
