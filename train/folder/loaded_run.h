#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "framework/core/status.h"
#include "train/folder/checkpoint.h"

namespace qkv {

// Tells the user something worth knowing that is not an error.
using TellNote = std::function<void(const std::string& note)>;

// A run as the user names it: a folder, or a checkpoint of one.
struct LoadedRun {
  std::string path;  // of the checkpoint
  Checkpoint checkpoint;

  absl::StatusOr<Model> model() const { return restore_model(path, checkpoint); }

  // The tokens of a text that the user gave with --OPTION. An error if there is none.
  absl::StatusOr<std::vector<int64_t>> encode(const std::string& option,
                                              const std::string& text) const;

  // The longest question and the longest sequence or answer that the model reads as a whole.
  int64_t longest_prompt() const;
  int64_t longest_sequence() const;
  int64_t batch_size() const { return checkpoint.config.train.validation_batch_size(); }
};

// "--prompt has 9 tokens; this model reads at most 4", where that is so.
absl::Status check_length(const std::string& what, int64_t length, int64_t longest);

// Its best checkpoint, where `run` is a folder. Takes the run's number of threads for the program.
absl::StatusOr<LoadedRun> load_run(const std::string& run);

// The same numbers in f64, so that results from them are exact to many digits.
void widen(Checkpoint& checkpoint);

// A run, its model and the data that it learned from.
struct RunWithData {
  LoadedRun run;
  Model model;
  std::unique_ptr<Dataset> dataset;
};

// `overrides` change the config of the data. Where a `text` is given, all of that file is judged in
// their place, in the tokens and classes of the run. Numbers in f64 where asked for.
absl::StatusOr<RunWithData> with_data(absl::StatusOr<LoadedRun> run,
                                      const std::vector<std::string>& overrides, bool in_f64,
                                      const TellNote& tell, const std::string& text = "");

}  // namespace qkv
