#pragma once

#include <optional>

#include "framework/io/files.h"
#include "train/run/run_folder.h"
#include "train/run/run_listener.h"

namespace qkv {

// metrics.jsonl and samples.txt: a line for each step that is logged, a part for each evaluation.
class RunFiles final : public RunListener {
 public:
  // Opens them, empty where they are not there yet.
  absl::Status open(const RunFolder& folder);

  absl::Status report(const StepReport& step) override;
  absl::Status before_checkpoint() override;

 private:
  std::optional<AppendFile> metrics_, samples_;
};

}  // namespace qkv
