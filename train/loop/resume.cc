#include "train/loop/resume.h"

#include <cstring>
#include <map>

#include "absl/strings/str_join.h"
#include "data/file.h"
#include "framework/io/files.h"
#include "train/config/config.h"
#include "train/folder/metrics.h"
#include "train/generate/samples.h"
#include "train/loop/training_run.h"

namespace qkv {
namespace {

// The changes of keys that must not change.
std::vector<std::string> forbidden_changes(const Config& now, const Config& before) {
  return config_changes(now, with_resumed_values(before, now));
}

absl::StatusOr<double> elapsed_seconds_at(const std::string& path, int64_t step) {
  const absl::StatusOr<std::vector<Metrics>> lines = read_metrics(path);
  if (absl::IsNotFound(lines.status())) return 0.0;  // somebody has removed them
  if (!lines.ok()) return lines.status();
  double seconds = 0;
  for (const Metrics& metrics : *lines) {
    if (metrics.step > step) break;
    seconds = metrics.elapsed_seconds.value_or(seconds);
  }
  return seconds;
}

absl::Status cut_back(const RunFolder& folder, const RunState& state) {
  const int64_t last_step = state.unwritten ? state.step - 1 : state.step;
  RETURN_IF_ERROR(cut_metrics(folder.metrics(), last_step));
  return cut_samples(folder.samples(), last_step);
}

}  // namespace

void Trainer::begin_with(const FirstWeights& weights) {
  std::map<std::string, const Array*> given;
  for (const NamedArray& a : weights.arrays) given[a.name] = &a.array;
  for (const Model* model : {&model(), &evaluated_model()}) {  // the mean of these
    for (const auto& [name, tensor] : parameters(*model)) {
      const auto found = given.find(name);
      Array target = tensor.array();
      if (found == given.end() || target.bytes() == 0) continue;
      std::memcpy(target.mutable_raw(), found->second->raw(), target.bytes());
    }
  }
}

absl::Status set_trainer(Trainer& trainer, const LoadedRun& at, const std::string& run,
                         const Config& config, const Dataset& dataset, CheckpointNumbers numbers) {
  const auto& [path, checkpoint] = at;
  if (!forbidden_changes(config, checkpoint.config).empty()) {
    return failed_precondition(path, ": this checkpoint belongs to another run than ", run,
                               "/config.toml");
  }
  if (checkpoint.state.step > config.train.steps) {
    return invalid_argument("train.steps is ", config.train.steps, ", but the run in ", run,
                            " has already made ", checkpoint.state.step, " steps");
  }
  const std::string now = paths_to_show(config.data.path),
                    then = paths_to_show(checkpoint.config.data.path);
  if (now != then &&
      (checkpoint.vocabulary != dataset.vocabulary() || !other_data(checkpoint, dataset).empty())) {
    return failed_precondition(
        "data.path is ", now, ", whose content is not that of ", then, ", from which the run in ",
        run, " has learned; leave data.path as it was, or start a new run with another --out");
  }
  if (checkpoint.vocabulary != dataset.vocabulary()) {
    return failed_precondition(
        path,
        ": its vocabulary differs from that of the data: the text has changed since "
        "the run began");
  }
  if (!checkpoint.class_names.empty() && checkpoint.class_names != dataset.class_names()) {
    return failed_precondition(path,
                               ": its classes differ from those of the data: the file has changed "
                               "since the run began");
  }
  if (const std::string other = other_data(checkpoint, dataset); !other.empty()) {
    return failed_precondition(path, ": ", other,
                               "; restore that one, or start a new run with another --out");
  }
  return restore(path, checkpoint, trainer.evaluated_model(), &trainer.optimizer(), numbers);
}

absl::StatusOr<RunFolder> open_to_resume(const std::string& path, const Config& config) {
  ASSIGN_OR_RETURN(RunFolder folder, RunFolder::resume(path));
  ASSIGN_OR_RETURN(const Config before, load_saved_config(folder.config()));
  const std::vector<std::string> changes = forbidden_changes(config, before);
  if (changes.empty()) return folder;
  return invalid_argument(
      "--resume continues with the config of the run (", folder.config(),
      "), but this config differs: ", absl::StrJoin(changes, "; "),
      ". Undo the change, or start a new run with another --out; these may change: ",
      absl::StrJoin(keys_that_may_change_on_resume(), ", "));
}

absl::StatusOr<ResumedRun> resume_from(const RunFolder& folder, const Config& config,
                                       const Dataset& dataset, Trainer& trainer) {
  ASSIGN_OR_RETURN(const std::string path, folder.newest_checkpoint());
  ASSIGN_OR_RETURN(Checkpoint checkpoint, load_checkpoint(path));
  if (!checkpoint.imported_from.empty()) {
    return failed_precondition(path, ": was imported; begin a run with --from ", folder.path());
  }
  RunState state = checkpoint.state;
  const LoadedRun at = {path, std::move(checkpoint)};
  RETURN_IF_ERROR(set_trainer(trainer, at, folder.path(), config, dataset));
  if (!state.elapsed_seconds) {
    ASSIGN_OR_RETURN(const double seconds, elapsed_seconds_at(folder.metrics(), state.step));
    state.elapsed_seconds = seconds;
  }
  ASSIGN_OR_RETURN(const Config before, load_saved_config(folder.config()));
  RETURN_IF_ERROR(cut_back(folder, state));
  const std::vector<std::string> changes = config_changes(config, before);
  // A run that has ended keeps the config that it was trained with.
  const bool has_more = !has_ended(config.train, state) || state.unwritten;
  if (!changes.empty() && has_more) {
    RETURN_IF_ERROR(write_file_atomically(folder.config(), to_toml(config)));
  }
  return ResumedRun{.state = state, .changes = changes};
}

}  // namespace qkv
