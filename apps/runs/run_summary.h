#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/report/facts.h"
#include "framework/core/status.h"
#include "train/config/train_options.h"
#include "train/folder/metrics.h"

namespace qkv {

// The results of a run, read from its folder.
struct RunSummary {
  std::string path;  // "runs/reverse"
  Config config = {};
  bool has_config = true;             // else it cannot be read, and `config` tells nothing
  std::string state = {};             // "finished", "training", "stopped"; "damaged: …"
  std::vector<Metrics> metrics = {};  // every line of metrics.jsonl
  std::optional<Metrics> best = {};   // the line of the smallest validation loss
  int64_t steps = 0;                  // of the last line, or of the last checkpoint
  double seconds = 0, tokens = 0;     // of training
  std::filesystem::file_time_type changed = {};  // when its metrics were last written

  bool is_damaged() const { return state.starts_with("damaged"); }
  std::optional<double> best_loss() const;
  // The share of right sequences at the best step, or of right tokens where a task has no answers.
  std::optional<double> accuracy() const;
  std::optional<double> tokens_per_second() const;  // over the whole run
};

Facts facts_of(const RunSummary& run);

bool holds_run(const std::filesystem::path& path);  // it has a config.toml

// An error where the folder holds no run; damage of one is a state of it.
absl::StatusOr<RunSummary> summarize_run(const std::string& path);

// The folders in `folder` that hold a run, and those in its folders, by their names.
absl::StatusOr<std::vector<std::string>> find_runs(const std::string& folder);

}  // namespace qkv
