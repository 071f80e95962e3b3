#include "train/run/run_files.h"

#include "absl/strings/str_cat.h"

namespace qkv {

absl::Status RunFiles::open(const RunFolder& folder) {
  absl::StatusOr<AppendFile> metrics = AppendFile::open(folder.metrics());
  if (!metrics.ok()) return metrics.status();
  absl::StatusOr<AppendFile> samples = AppendFile::open(folder.samples());
  if (!samples.ok()) return samples.status();
  metrics_.emplace(*std::move(metrics));
  samples_.emplace(*std::move(samples));
  return absl::OkStatus();
}

absl::Status RunFiles::report(const StepReport& step) {
  if (step.evaluated) {
    const std::string part = absl::StrCat("step ", step.metrics.step, "\n", step.samples, "\n");
    if (absl::Status status = samples_->append(part); !status.ok()) return status;
  }
  return step.logged ? metrics_->append(metrics_to_json(step.metrics)) : absl::OkStatus();
}

absl::Status RunFiles::before_checkpoint() {
  if (absl::Status status = metrics_->flush(); !status.ok()) return status;
  return samples_->flush();
}

}  // namespace qkv
