#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/runs/sweep/sweep_plan.h"
#include "framework/io/files.h"

namespace qkv {

// A run of a sweep that trains in a process of its own, until its end or until it is stopped. It
// begins the run, or goes on with what is in the folder. It hears of a stop through its connection
// to the process that started it, and stops as well when that process has ended, however it did:
// Ctrl-C and SIGTERM, which a terminal or a scheduler sends to both, mean nothing to it.
class SweepJob {
 public:
  // The calling process must have one thread only. A run that needs more than `memory`, in bytes,
  // fails before it begins. `others`: the descriptors of the jobs that it
  // has started, which the new process must not keep open.
  static absl::StatusOr<SweepJob> start(const SweepRun& run, int threads, uint64_t memory,
                                        const std::vector<int>& others);

  // Readable when the job has something to say.
  int descriptor() const { return connection_.get(); }
  // Hears what it says; false when it has ended.
  bool listen();
  // After its end. OK: the run is finished. Cancelled: it was stopped, and is saved. Unavailable:
  // another process trains into its folder. Any other: it failed.
  absl::Status result();

  // The results do not depend on the number of threads.
  void use_threads(int threads);
  void stop();  // and save
  void kill();

  int threads() const { return threads_; }
  int64_t steps_made() const { return steps_made_; }
  int64_t first_step() const { return first_step_; }  // the number of steps it had when it began

 private:
  SweepJob(pid_t process, FileDescriptor connection, int threads)
      : process_(process), connection_(std::move(connection)), threads_(threads) {}

  pid_t process_;
  FileDescriptor connection_;
  int threads_;
  std::string heard_;  // and not yet understood
  int64_t steps_made_ = 0, first_step_ = -1;
};

}  // namespace qkv
