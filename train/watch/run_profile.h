#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "train/folder/run_folder.h"
#include "train/watch/profile.h"
#include "train/watch/run_listener.h"

namespace qkv {

// `train --profile`: looks at some steps of a run, and writes where their time went to profile.txt
// and trace.json in the run's folder. The first steps, which ask the system for memory, are left
// out where there are enough.
class RunProfile final : public RunListener {
 public:
  // `steps` are still to be made.
  RunProfile(const RunFolder& folder, int64_t steps);

  void before_step() override;
  absl::Status after_step() override;  // writes the files after the last step it looks at

  bool complete() const { return made_ == last_; }
  std::string describe() const;  // for a person, when it is complete

 private:
  absl::Status write() const;

  std::string profile_path_, trace_path_;
  int64_t first_,
      last_;  // it looks at steps first_ … last_ - 1, counted from the start of this run
  int64_t made_ = 0;
  std::optional<Profiler> profiler_;
};

}  // namespace qkv
