#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/runs/sweep/sweep_plan.h"
#include "framework/io/files.h"

namespace qkv {

// `qkv train` in a process of its own, which begins a run of a sweep, or continues the one in its
// folder. It saves the run when it is stopped, or when the process that started it has ended,
// however it did: Ctrl-C and SIGTERM, which a terminal or a scheduler sends to both, mean nothing
// to it.
class SweepJob {
 public:
  // A run that needs more than `memory`, in bytes, fails before it begins.
  static absl::StatusOr<SweepJob> start(const SweepRun& run, int threads, uint64_t memory);

  // Readable when the job has something to say.
  int descriptor() const { return output_.get(); }
  // Reads its output; false when it has ended.
  bool listen();
  // After its end. OK: the run is finished. Cancelled: it was stopped, and is saved. Unavailable:
  // another process trains into its folder, or has begun to. Any other: it failed.
  absl::Status result();

  void stop();  // and save
  void kill();

  int64_t steps_made() const { return step_ - first_step_; }  // by this job
  int64_t step() const { return step_; }
  bool was_finished() const { return was_finished_; }  // before it began

 private:
  SweepJob(pid_t process, FileDescriptor output) : process_(process), output_(std::move(output)) {}
  void read_line(const std::string& line);

  pid_t process_;
  FileDescriptor output_;
  std::string rest_;  // of its output: a line that has not ended
  std::string error_;
  int64_t first_step_ = 0, step_ = 0;
  bool was_finished_ = false;
};

}  // namespace qkv
