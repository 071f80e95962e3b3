#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/text/vocabulary.h"
#include "framework/core/status.h"
#include "framework/io/safetensors.h"
#include "framework/optim/optimizer.h"
#include "models/model.h"
#include "train/config/train_options.h"
#include "train/folder/metrics.h"

namespace qkv {

// The state of a run, besides its arrays. Without a stop it has no times: the same run gives the
// same file.
struct RunState {
  int64_t step = 0;          // steps made
  double best_val_loss = 0;  // meaningful once best_step > 0
  int64_t best_step = 0;
  int64_t evaluations_since_best = 0;
  // The metrics of the last step, where the run was stopped before they were in their file: the
  // evaluation and the line of metrics after that step are still to be done.
  std::optional<Metrics> unwritten;
  // Where the run was stopped: its time in training, which metrics.jsonl may not have yet.
  std::optional<double> elapsed_seconds = {};
  // The count for the next line of metrics; in a file, only where the run was stopped.
  int64_t tokens_since_log = 0;
  double seconds_since_log = 0;
};

// A checkpoint is a safetensors file: the parameters under their own names, the optimizer's state
// under "optimizer.…" (with an average: the parameters are the average, and the weights are
// "optimizer.weight.…"), and in the metadata the config, the properties of the data, and the
// RunState.
struct Checkpoint {
  Config config;
  Vocabulary vocabulary;
  std::vector<std::string> class_names;  // none: the answers are of the vocabulary
  std::string imported_from;             // of another program, without the data; "": a run's
  std::string trained_in;        // the folder where relative paths began; "": there are none
  std::string data_fingerprint;  // "": there is none, or the file is older than fingerprints
  DataShape data;
  RunState state;
  std::vector<NamedArray> arrays;

  // The answers of the form kClass.
  const std::vector<std::string>& answers() const {
    return class_names.empty() ? vocabulary.texts() : class_names;
  }
};

inline constexpr char kOptimizerPrefix[] = "optimizer.";

// Where a run stands. The arrays are those of the model and the optimizer, not copies.
Checkpoint checkpoint_of(const Config& config, const Dataset& dataset, const Model& model,
                         const Optimizer& optimizer, const RunState& state);

// Written atomically: a crash or a full disk leaves the old file. Relative paths of the config
// begin in the current directory.
absl::Status save_checkpoint(const std::string& path, const Checkpoint& checkpoint);

// Errors name the file, and say what is wrong with it.
absl::StatusOr<Checkpoint> load_checkpoint(const std::string& path);

// The numbers that are NaN or infinite: how many there are, and the place of the first.
struct NotFinite {
  int64_t count = 0, first = 0;
};
NotFinite not_finite_in(const Array& array);

// Copies the checkpoint's arrays into the model, which is that of the average where there is one,
// and into the optimizer where one is given. Numbers that are not finite are an error, except with
// kAny, for looking at them.
enum class CheckpointNumbers { kFinite, kAny };
absl::Status restore(const std::string& path, const Checkpoint& checkpoint, const Model& model,
                     Optimizer* optimizer, CheckpointNumbers numbers = CheckpointNumbers::kFinite);

// A sentence where these are not the data that the run learned from; "" where they may be.
std::string other_data(const Checkpoint& checkpoint, const Dataset& dataset);

// The model of a checkpoint, with its parameters.
absl::StatusOr<Model> restore_model(const std::string& path, const Checkpoint& checkpoint);

}  // namespace qkv
