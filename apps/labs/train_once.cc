#include "apps/labs/train_once.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/io/files.h"
#include "train/config/config.h"
#include "train/folder/checkpoint.h"
#include "train/folder/experiment.h"
#include "train/folder/run_folder.h"
#include "train/loop/trainer.h"
#include "train/loop/training_run.h"

namespace qkv {
namespace {

absl::Status not_of_it(const std::string& path) {
  return absl::FailedPreconditionError(absl::StrCat(path, " does not belong to this run"));
}

// Whether there is a line for each step that is logged, up to the last one, and nothing else.
bool are_complete(const std::vector<Metrics>& lines, const TrainOptions& options, int64_t last) {
  auto line = lines.begin();
  for (int64_t step = 1; step <= last; ++step) {
    if (!is_logged(options, step)) continue;
    if (line == lines.end() || line->step != step || !line->loss || !line->grad_norm) return false;
    ++line;
  }
  return line == lines.end() && !lines.empty() && lines.back().val_loss;
}

// Whether training begins today as it did then: with another program, or on a processor that rounds
// otherwise, it would come to another model. The second step shows what the first one changed.
bool begins_alike(const FinishedRun& run) {
  constexpr int64_t kCompared = 2;
  Trainer trainer(run.config, *run.dataset);
  for (const Metrics& line : run.metrics) {
    if (line.step > kCompared) break;
    absl::StatusOr<StepResult> result;
    while (trainer.steps_made() < line.step) {
      result = trainer.step();
      if (!result.ok()) return false;
    }
    if (result->loss != line.loss || result->grad_norm != line.grad_norm) return false;
  }
  return true;
}

absl::StatusOr<FinishedRun> read_run(const RunFolder& folder, const Config& config,
                                     std::shared_ptr<const Dataset> dataset) {
  const absl::StatusOr<std::string> toml = read_regular_file(folder.config());
  if (!toml.ok()) return toml.status();
  if (*toml != to_toml(config)) return not_of_it(folder.config());
  const std::string last = folder.last_checkpoint();
  const absl::StatusOr<Checkpoint> checkpoint = load_checkpoint(last);
  if (!checkpoint.ok()) return checkpoint.status();
  if (to_toml(checkpoint->config) != *toml || !other_data(*checkpoint, *dataset).empty() ||
      !has_ended(config.train, checkpoint->state) || checkpoint->state.unwritten) {
    return not_of_it(last);
  }
  absl::StatusOr<Model> model = restore_model(last, *checkpoint);
  if (!model.ok()) return model.status();
  absl::StatusOr<std::vector<Metrics>> metrics = read_metrics(folder.metrics());
  if (!metrics.ok()) return metrics.status();
  FinishedRun run = {.config = config,
                     .dataset = std::move(dataset),
                     .model = *std::move(model),
                     .metrics = *std::move(metrics)};
  if (!are_complete(run.metrics, config.train, checkpoint->state.step) || !begins_alike(run)) {
    return not_of_it(folder.metrics());
  }
  return run;
}

absl::Status train_anew(TrainingRun& run, RunListener& listener) {
  if (absl::Status s = run.folder().begin_anew(run.config()); !s.ok()) return s;
  if (absl::Status s = run.begin(); !s.ok()) return s;
  return run.run({&listener}).status();
}

}  // namespace

absl::StatusOr<FinishedRun> train_once(const std::string& folder, const Config& config,
                                       RunListener& listener) {
  absl::StatusOr<std::unique_ptr<Dataset>> made = make_dataset(config);
  if (!made.ok()) return made.status();
  const std::shared_ptr<const Dataset> dataset = *std::move(made);
  std::error_code ignored;
  if (std::filesystem::is_regular_file(folder, ignored)) std::filesystem::remove(folder, ignored);
  absl::StatusOr<RunFolder> held = RunFolder::wait_for(folder);
  if (!held.ok()) return held.status();
  absl::StatusOr<FinishedRun> reused = read_run(*held, config, dataset);
  if (reused.ok()) return reused;

  TrainingRun run(config, *dataset, *std::move(held));  // holds the folder until the end
  const absl::Status trained = train_anew(run, listener);
  absl::StatusOr<FinishedRun> finished =
      trained.ok() ? read_run(run.folder(), config, dataset) : trained;
  if (!finished.ok()) std::filesystem::remove_all(folder, ignored);
  return finished;
}

}  // namespace qkv
