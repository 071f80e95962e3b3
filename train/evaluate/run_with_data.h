#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/split.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/loaded_run.h"

namespace qkv {

// A run, its model and the data that it learned from.
struct RunWithData {
  LoadedRun run;
  Model model;
  std::unique_ptr<Dataset> dataset;
  int64_t batch_size;  // of evaluations
};

// `overrides` change the config of the data (LoadedRun::dataset); where a `text` is given, that
// file is judged in their place. Numbers in f64 where asked for.
absl::StatusOr<RunWithData> load_run_with_data(const std::string& name,
                                               const std::vector<std::string>& overrides,
                                               bool in_f64, const TellNote& tell,
                                               const std::string& text = "");
// The same of a run that is loaded.
absl::StatusOr<RunWithData> with_data(LoadedRun run, const std::vector<std::string>& overrides,
                                      bool in_f64, const TellNote& tell,
                                      const std::string& text = "");

// An error where the loss is no finite number.
absl::StatusOr<Evaluation> evaluate_run(const RunWithData& run, Split split,
                                        const TellProgress& tell);

}  // namespace qkv
