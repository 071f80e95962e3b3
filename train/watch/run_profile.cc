#include "train/watch/run_profile.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

constexpr int64_t kWarmUp = 5, kSteps = 10;

}  // namespace

RunProfile::RunProfile(const RunFolder& folder, int64_t steps)
    : profile_path_(folder.profile()),
      trace_path_(folder.trace()),
      first_(std::clamp<int64_t>(steps - kSteps, 0, kWarmUp)),
      last_(first_ + std::min(steps - first_, kSteps)) {}

void RunProfile::before_step() {
  if (made_ == first_) profiler_.emplace(/*keep_trace=*/true);
}

absl::Status RunProfile::after_step() {
  if (complete()) return absl::OkStatus();
  ++made_;
  if (!complete()) return absl::OkStatus();
  absl::Status status = write();
  profiler_.reset();
  return status;
}

absl::Status RunProfile::write() const {
  absl::Status status =
      write_file_atomically(profile_path_, profile_table(profiler_->rows(), last_ - first_));
  if (!status.ok()) return status;
  return write_file_atomically(trace_path_, chrome_trace(profiler_->trace()));
}

std::string RunProfile::describe() const {
  return absl::StrCat("wrote the time of each op in ", last_ - first_, " steps to ", profile_path_,
                      ", and a trace for chrome://tracing or ui.perfetto.dev to ", trace_path_);
}

}  // namespace qkv
