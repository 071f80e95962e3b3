#include "apps/runs/replay/replay_start.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "framework/core/shape.h"
#include "framework/kernels/elementwise.h"
#include "framework/kernels/parallel.h"
#include "train/config/config.h"
#include "train/folder/checkpoint.h"
#include "train/folder/experiment.h"
#include "train/folder/first_weights.h"
#include "train/folder/run_folder.h"
#include "train/loop/resume.h"
#include "train/loop/training_run.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kUnknownStep = std::numeric_limits<int64_t>::max();

struct Candidate {
  std::string path;
  int64_t step = kUnknownStep;  // one that cannot be read comes first, so that it is said
};

// By the heads of the files, the newest first; of one step, last.safetensors before the others.
std::vector<Candidate> checkpoints_of(const std::string& run) {
  std::vector<std::string> paths;
  for (const char* name : {"checkpoints/last.safetensors", "checkpoints/best.safetensors"}) {
    paths.push_back((fs::path(run) / name).string());
  }
  for (const std::string& path : numbered_checkpoints(run)) paths.push_back(path);
  std::vector<Candidate> found;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) continue;
    const absl::StatusOr<TensorFileHeader> header = read_safetensors_header(path);
    int64_t step = kUnknownStep;
    if (header.ok()) {
      const auto text = header->metadata.find("step");
      if (text == header->metadata.end() || !absl::SimpleAtoi(text->second, &step)) continue;
    }
    found.push_back({path, step});
  }
  std::ranges::stable_sort(found, std::greater(), &Candidate::step);
  return found;
}

// "1 of the 16 numbers of final_norm.bias are not finite, the first at [3]"; "": all are.
std::string damage_in(const Checkpoint& checkpoint) {
  for (const NamedArray& each : checkpoint.arrays) {
    if (kernels::all_finite(each.array)) continue;
    const std::vector<double> numbers = each.array.to_vector();
    const auto is_bad = [](double x) { return !std::isfinite(x); };
    const auto first = std::ranges::find_if(numbers, is_bad) - numbers.begin();
    return absl::StrCat(std::ranges::count_if(numbers, is_bad), " of the ", numbers.size(),
                        " numbers of ", each.name, " are not finite, the first at ",
                        position(each.array.shape(), first));
  }
  return "";
}

struct Found {
  std::string path;  // "": none
  Checkpoint checkpoint;
  bool is_damaged = false;
};

// A checkpoint with numbers that are not finite is what a run ends with, too, if no step is asked
// for: the next step shows which op reads them.
Found choose(const std::vector<Candidate>& candidates, std::optional<int64_t> step,
             std::vector<std::string>& notes) {
  Found damaged;
  for (const Candidate& candidate : candidates) {
    if (step && candidate.step >= *step && candidate.step != kUnknownStep) continue;
    absl::StatusOr<Checkpoint> checkpoint = load_checkpoint(candidate.path);
    if (!checkpoint.ok()) {
      notes.emplace_back(checkpoint.status().message());
      continue;
    }
    if (step && checkpoint->state.step >= *step) {
      notes.push_back(absl::StrCat("--step ", *step, ": ", candidate.path, " has made ",
                                   checkpoint->state.step, " steps already"));
      continue;
    }
    const std::string damage = damage_in(*checkpoint);
    if (damage.empty() && damaged.path.empty()) return {candidate.path, *std::move(checkpoint)};
    if (damage.empty()) {
      notes.push_back(absl::StrCat("the newest whole checkpoint is ", candidate.path, ", step ",
                                   checkpoint->state.step));
      break;
    }
    notes.push_back(
        absl::StrCat(candidate.path, " is damaged: ", damage, "; training saves no such number"));
    if (!step && damaged.path.empty()) damaged = {candidate.path, *std::move(checkpoint), true};
  }
  return damaged;
}

absl::Status set_to(const Found& found, ReplayStart& start) {
  Trainer& trainer = *start.trainer;
  if (found.path.empty()) {
    const absl::StatusOr<FirstWeights> first = find_first_weights(start.config, *start.dataset);
    if (!first.ok()) return first.status();
    put_into(trainer.model(), *first);
    put_into(trainer.evaluated_model(), *first);
    return absl::OkStatus();
  }
  std::error_code ignored;
  const std::string run = fs::is_directory(start.run, ignored) ? start.run : found.path;
  absl::Status same =
      check_same_run(found.path, found.checkpoint, run, start.config, *start.dataset);
  if (!same.ok()) return same;
  start.checkpoint = found.path;
  start.is_damaged = found.is_damaged;
  const RunState& state = found.checkpoint.state;
  start.has_ended = has_ended(start.config.train, state) && !state.unwritten;
  start.evaluation_is_due = state.unwritten && is_evaluated(start.config.train, state.step);
  return restore(found.path, found.checkpoint, trainer.evaluated_model(), &trainer.optimizer(),
                 CheckpointNumbers::kAny);
}

}  // namespace

absl::StatusOr<ReplayStart> begin_replay(const std::string& run, std::optional<int64_t> step) {
  ReplayStart start;
  start.run = run;
  std::error_code ignored;
  const bool is_folder = fs::is_directory(run, ignored);
  std::vector<Candidate> candidates = {{run}};
  if (!is_folder) {
    if (const auto exists = find_checkpoint(run); !exists.ok()) return exists.status();
  } else {
    candidates = checkpoints_of(run);
    if (!fs::is_regular_file(fs::path(run) / "config.toml", ignored)) {
      return absl::NotFoundError(absl::StrCat(run, " holds no run: it has no config.toml"));
    }
  }
  const Found found = choose(candidates, step, start.notes);
  if (found.path.empty() && !is_folder) {
    const std::string& why = start.notes.front();
    return absl::StartsWith(why, "--step") ? absl::InvalidArgumentError(why)
                                           : absl::DataLossError(why);
  }
  if (found.path.empty() && !step) {
    return candidates.empty() ? absl::NotFoundError(absl::StrCat(run, " holds no checkpoint yet"))
                              : absl::DataLossError(absl::StrCat(
                                    run, ": no checkpoint can be read: ", start.notes.front()));
  }
  absl::StatusOr<Config> config = is_folder
                                      ? load_saved_config((fs::path(run) / "config.toml").string())
                                      : found.checkpoint.config;
  if (!config.ok()) return config.status();
  start.config = *std::move(config);
  kernels::set_num_threads(static_cast<int>(start.config.train.threads));
  absl::StatusOr<std::unique_ptr<Dataset>> dataset = make_dataset(start.config);
  if (!dataset.ok()) return dataset.status();
  start.dataset = *std::move(dataset);
  if (is_folder) {
    absl::StatusOr<std::vector<Metrics>> lines =
        read_metrics((fs::path(run) / "metrics.jsonl").string());
    if (!lines.ok() && !absl::IsNotFound(lines.status())) return lines.status();
    if (lines.ok()) start.metrics = *std::move(lines);
  }
  start.trainer = std::make_unique<Trainer>(start.config, *start.dataset);
  if (absl::Status s = set_to(found, start); !s.ok()) return s;
  return start;
}

}  // namespace qkv
