#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "train/run/checkpoint.h"

namespace qkv {

// A run as the user names it: a folder, or a checkpoint of one.
struct LoadedRun {
  std::string path;  // of the checkpoint
  Checkpoint checkpoint;

  // The data that it learned from. `overrides` change its config; a note on standard error says
  // whether the text has changed.
  absl::StatusOr<std::unique_ptr<Dataset>> dataset(const std::vector<std::string>& overrides) const;

 private:
  absl::Status check_fits(const DataShape& now) const;
};

// Its best checkpoint, where `run` is a folder. Takes the run's number of threads for the program.
absl::StatusOr<LoadedRun> load_run(const std::string& run);

// The same numbers in f64, so that what follows from them is exact to many digits.
void widen(Checkpoint& checkpoint);

}  // namespace qkv
