#include "train/run/checkpoint_keeper.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/kernels/elementwise.h"
#include "train/run/finite.h"

namespace qkv {

CheckpointKeeper::CheckpointKeeper(const RunFolder& folder, const Config& config,
                                   std::vector<NamedParameter> parameters, RunState& state,
                                   Save save)
    : folder_(folder),
      config_(config),
      parameters_(std::move(parameters)),
      state_(state),
      save_(std::move(save)) {}

absl::Status CheckpointKeeper::report(const StepReport& step) {
  const Metrics& metrics = step.metrics;
  const int64_t interval = config_.train.checkpoint_interval;
  const bool numbered = interval > 0 && metrics.step % interval == 0;
  if (!step.evaluated && !numbered) return absl::OkStatus();
  if (absl::Status status = check_finite(metrics.step); !status.ok()) return status;
  if (metrics.val_loss && (state_.best_step == 0 || *metrics.val_loss < state_.best_val_loss)) {
    state_.best_val_loss = *metrics.val_loss;
    state_.best_step = metrics.step;
    if (absl::Status status = save_(folder_.best_checkpoint()); !status.ok()) return status;
  }
  if (numbered) {
    if (absl::Status status = save_(folder_.checkpoint(metrics.step)); !status.ok()) return status;
  }
  return save_(folder_.last_checkpoint());
}

absl::Status CheckpointKeeper::check_finite(int64_t step) const {
  const bool finite = std::ranges::all_of(
      parameters_, [](const NamedParameter& p) { return kernels::all_finite(p.tensor.array()); });
  if (finite) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "step ", step, ": a parameter is no longer a finite number; this step was not saved.  ",
      advice_for_blow_up(config_, step)));
}

}  // namespace qkv
