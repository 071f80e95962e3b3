#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/nn/module.h"
#include "train/config/options.h"
#include "train/run/checkpoint.h"
#include "train/run/run_folder.h"
#include "train/run/run_listener.h"

namespace qkv {

// best.safetensors, last.safetensors and the numbered checkpoints. It comes after the listeners
// that write what a checkpoint goes on from.
class CheckpointKeeper final : public RunListener {
 public:
  // Saves where the run stands to a file of that path.
  using Save = std::function<absl::Status(const std::string& path)>;

  // What is referred to must outlive the keeper; `state` is kept up to date.
  CheckpointKeeper(const RunFolder& folder, const Config& config,
                   std::vector<NamedParameter> parameters, RunState& state, Save save);

  absl::Status report(const StepReport& step) override;

  // An error where a parameter is no longer a finite number, as which it is not saved.
  absl::Status check_finite(int64_t step) const;

 private:
  const RunFolder& folder_;
  const Config& config_;
  std::vector<NamedParameter> parameters_;
  RunState& state_;
  Save save_;
};

}  // namespace qkv
