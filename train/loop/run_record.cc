#include "train/loop/run_record.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/kernels/elementwise.h"
#include "train/loop/step_evaluation.h"
#include "train/watch/finite.h"

namespace qkv {
namespace {

// A parameter, or what the optimizer keeps of one: a run cannot be resumed with such numbers. "":
// all are finite.
std::string first_not_finite(Trainer& trainer) {
  for (const NamedParameter& p : trainer.trained_parameters()) {
    if (!kernels::all_finite(p.tensor.array())) return p.name;
  }
  for (const NamedState& state : trainer.optimizer().state()) {
    if (!kernels::all_finite(state.array)) return state.name;
  }
  return "";
}

}  // namespace

RunRecord::RunRecord(RunFolder folder, const Config& config, const Dataset& dataset,
                     Trainer& trainer, RunState& state, const std::vector<RunListener*>& listeners)
    : folder_(std::move(folder)),
      config_(config),
      dataset_(dataset),
      trainer_(trainer),
      state_(state),
      listeners_(listeners) {}

absl::Status RunRecord::open() {
  absl::StatusOr<AppendFile> metrics = AppendFile::open(folder_.metrics());
  if (!metrics.ok()) return metrics.status();
  absl::StatusOr<AppendFile> samples = AppendFile::open(folder_.samples());
  if (!samples.ok()) return samples.status();
  metrics_.emplace(*std::move(metrics));
  samples_.emplace(*std::move(samples));
  return absl::OkStatus();
}

absl::Status RunRecord::write(const StepReport& step) {
  if (absl::Status s = append_lines(step); !s.ok()) return s;
  state_.unwritten.reset();
  return save_checkpoints(step);
}

absl::Status RunRecord::append_lines(const StepReport& step) {
  if (step.evaluated) {
    const std::string part = absl::StrCat("step ", step.metrics.step, "\n", step.samples, "\n");
    if (absl::Status s = samples_->append(part); !s.ok()) return s;
  }
  if (!step.logged) return absl::OkStatus();
  absl::Status status = metrics_->append(metrics_to_json(step.metrics));
  for (RunListener* listener : listeners_) {
    if (status.ok()) status = listener->record(step, trainer_.evaluated_model());
  }
  return status;
}

absl::Status RunRecord::save_checkpoints(const StepReport& step) {
  const Metrics& metrics = step.metrics;
  const bool numbered = is_numbered(config_.train, metrics.step);
  if (!step.evaluated && !numbered) return absl::OkStatus();
  if (absl::Status s = check_finite(); !s.ok()) return s;
  if (metrics.val_loss && state_.best_step > 0 && *metrics.val_loss >= state_.best_val_loss) {
    ++state_.evaluations_since_best;
  } else if (metrics.val_loss) {
    state_.best_val_loss = *metrics.val_loss;
    state_.best_step = metrics.step;
    state_.evaluations_since_best = 0;
    if (absl::Status s = save(folder_.best_checkpoint()); !s.ok()) return s;
  }
  if (numbered) {
    if (absl::Status s = save(folder_.checkpoint(metrics.step)); !s.ok()) return s;
  }
  return save_last();
}

absl::Status RunRecord::save_last() { return save(folder_.last_checkpoint()); }

absl::Status RunRecord::save(const std::string& path) {
  if (absl::Status s = metrics_->flush(); !s.ok()) return s;
  if (absl::Status s = samples_->flush(); !s.ok()) return s;
  for (RunListener* listener : listeners_) {
    if (absl::Status s = listener->flush(); !s.ok()) return s;
  }
  return save_checkpoint(path, checkpoint_of(config_, dataset_, trainer_.evaluated_model(),
                                             trainer_.optimizer(), state_));
}

absl::Status RunRecord::check_finite() {
  if (const std::string name = first_not_finite(trainer_); !name.empty()) {
    return absl::DataLossError(absl::StrCat("step ", state_.step, ": ", name,
                                            " is no longer finite; this step was not saved. ",
                                            advice_for_blow_up(config_, state_.step)));
  }
  return absl::OkStatus();
}

absl::Status RunRecord::check_place() {
  const std::string before = folder_.path();
  const absl::StatusOr<bool> moved = folder_.follow();
  if (!moved.ok() || !*moved) return moved.status();
  if (absl::Status s = save_last(); !s.ok()) return s;
  return absl::AbortedError(
      absl::StrCat(before, " was moved to ", folder_.path(),
                   " while the run trained into it; the run was saved there after step ",
                   state_.step, "; --resume --out ", folder_.path(), " continues it"));
}

absl::Status RunRecord::explain(absl::Status status) {
  if (!absl::IsDataLoss(status) && !absl::IsAborted(status)) {
    if (absl::Status moved = check_place(); !moved.ok()) status = moved;
  }
  if (folder_.newest_checkpoint().value_or("").empty()) return status;
  const std::string where =
      absl::IsDataLoss(status) ? absl::StrCat("; qkv replay ", folder_.path(), " shows where") : "";
  return absl::Status(status.code(), absl::StrCat(status.message(), "; the checkpoints in ",
                                                  folder_.path(), " are kept", where));
}

}  // namespace qkv
