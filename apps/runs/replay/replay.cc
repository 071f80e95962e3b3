#include "apps/runs/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "data/dataset.h"
#include "framework/core/each_of.h"
#include "framework/core/shape.h"
#include "framework/kernels/kernels.h"
#include "framework/kernels/parallel.h"
#include "train/config/config.h"
#include "train/config/train_options.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/checkpoint.h"
#include "train/folder/experiment.h"
#include "train/folder/metrics.h"
#include "train/folder/run_folder.h"
#include "train/loop/resume.h"
#include "train/loop/trainer.h"
#include "train/loop/training_run.h"
#include "train/watch/finite.h"

namespace qkv {
namespace {

// A run as it stood at one of its checkpoints, or at its beginning. Nothing is written.
struct ReplayStart {
  Config config;
  std::unique_ptr<Dataset> dataset;
  std::unique_ptr<Trainer> trainer;
  std::string checkpoint;          // "": the weights that the run began with
  bool is_damaged = false;         // a number of the checkpoint is not finite
  bool has_ended = false;          // the run makes no further step
  bool evaluation_is_due = false;  // the last step was made, and not evaluated
  std::vector<Metrics> metrics;    // the lines of the run
  std::vector<std::string> notes;  // on its checkpoints
};

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
    const NotFinite numbers = not_finite_in(each.array);
    if (numbers.count == 0) continue;
    return absl::StrCat(numbers.count, " of the ", each.array.size(), " numbers of ", each.name,
                        " are not finite, the first at ",
                        position(each.array.shape(), numbers.first));
  }
  return "";
}

// A checkpoint with numbers that are not finite is what a run ends with, too, if no step is asked
// for: the next step shows which op reads them. Without a path: there is none.
LoadedRun choose(const std::vector<Candidate>& candidates, std::optional<int64_t> step,
                 std::vector<std::string>& notes, bool& is_damaged) {
  LoadedRun damaged;
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
    if (!step && damaged.path.empty()) damaged = {candidate.path, *std::move(checkpoint)};
  }
  is_damaged = !damaged.path.empty();
  return damaged;
}

// The newest checkpoint of the run; with a step, the newest whole one before it, or the beginning
// of the run. `run` may name a checkpoint.
absl::StatusOr<ReplayStart> begin_replay(const std::string& run, std::optional<int64_t> step) {
  ReplayStart start;
  std::error_code ignored;
  const bool is_folder = fs::is_directory(run, ignored);
  std::vector<Candidate> candidates = {{run}};
  if (!is_folder) {
    if (const auto exists = find_checkpoint(run); !exists.ok()) return exists.status();
  } else {
    candidates = checkpoints_of(run);
    if (!fs::is_regular_file(fs::path(run) / "config.toml", ignored)) {
      return not_found(run, " holds no run: it has no config.toml");
    }
  }
  const LoadedRun found = choose(candidates, step, start.notes, start.is_damaged);
  if (found.path.empty() && !is_folder) {
    const std::string& why = start.notes.front();
    return absl::StartsWith(why, "--step") ? absl::InvalidArgumentError(why)
                                           : absl::DataLossError(why);
  }
  if (found.path.empty() && !step) {
    return candidates.empty()
               ? not_found(run, " holds no checkpoint yet")
               : data_loss(run, ": no checkpoint can be read: ", start.notes.front());
  }
  ASSIGN_OR_RETURN(Config config, is_folder
                                      ? load_saved_config((fs::path(run) / "config.toml").string())
                                      : found.checkpoint.config);
  start.config = std::move(config);
  kernels::set_num_threads(static_cast<int>(start.config.train.threads));
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> dataset, make_dataset(start.config));
  start.dataset = std::move(dataset);
  if (is_folder) {
    absl::StatusOr<std::vector<Metrics>> lines =
        read_metrics((fs::path(run) / "metrics.jsonl").string());
    if (!lines.ok() && !absl::IsNotFound(lines.status())) return lines.status();
    if (lines.ok()) start.metrics = *std::move(lines);
  }
  start.trainer = std::make_unique<Trainer>(start.config, *start.dataset);
  if (found.path.empty()) {
    ASSIGN_OR_RETURN(const FirstWeights first, find_first_weights(start.config, *start.dataset));
    start.trainer->begin_with(first);
    return start;
  }
  RETURN_IF_ERROR(set_trainer(*start.trainer, found, is_folder ? run : found.path, start.config,
                              *start.dataset, CheckpointNumbers::kAny));
  start.checkpoint = found.path;
  const RunState& state = found.checkpoint.state;
  start.has_ended = has_ended(start.config.train, state) && !state.unwritten;
  start.evaluation_is_due = state.unwritten && is_evaluated(start.config.train, state.step);
  return start;
}

// The state that a step changes, as it is now.
Checkpoint copy_of(const ReplayStart& start) {
  const Trainer& trainer = *start.trainer;
  Checkpoint copy =
      checkpoint_of(start.config, *start.dataset, trainer.evaluated_model(), trainer.optimizer(),
                    {.step = trainer.steps_made(), .unwritten = {}});
  for (NamedArray& each : copy.arrays) each.array = each.array.copy();
  return copy;
}

bool is_saved(const ReplayStart& start, int64_t step) {
  const int64_t parameters = parameter_count(start.trainer->trained_parameters());
  return is_evaluated(start.config.train, step) ||
         is_numbered(start.config.train, parameters, step);
}

bool evaluates_well(const ReplayStart& start) {
  const auto e = evaluate(start.trainer->evaluated_model(), *start.dataset, Split::kValidation,
                          start.config.train.validation_batch_size());
  return !e.ok() || std::isfinite(e->loss);
}

void compare(const std::vector<Metrics>& lines, int64_t step, const StepResult& result,
             StepReplay& replay) {
  for (const Metrics& line : lines) {
    if (line.step != step || !line.loss || !line.grad_norm) continue;
    ++replay.compared;
    const bool same = *line.loss == result.loss && *line.grad_norm == result.grad_norm &&
                      line.learning_rate.value_or(result.learning_rate) == result.learning_rate;
    if (!same && !replay.differs_at) replay.differs_at = step;
  }
}

std::vector<double> norms_of(const std::vector<NamedParameter>& all) {
  return each_of(all, [](const NamedParameter& p) {
    return std::sqrt(static_cast<double>(kernels::sum_of_squares(p.tensor.array())));
  });
}

std::vector<WeightGrowth> growth_of(const std::vector<NamedParameter>& all,
                                    const std::vector<double>& before, int64_t steps) {
  constexpr double kNotable = 1.5;
  std::vector<WeightGrowth> grown;
  const std::vector<double> now = norms_of(all);
  for (size_t i = 0; i < all.size() && steps > 0; ++i) {
    const double ratio = now[i] / before[i];
    if (!(ratio > kNotable) || !std::isfinite(ratio)) continue;
    grown.push_back(
        {all[i].name, before[i], now[i], std::pow(ratio, 1 / static_cast<double>(steps))});
  }
  std::ranges::stable_sort(grown, std::greater(), &WeightGrowth::each_step);
  return grown;
}

// Repeats steps until the trainer stands before the one to look at. The result tells whether there
// is one; `evaluates`: its evaluation is to be looked at as well; `in_evaluation`: the evaluation
// alone, of the step that is made.
struct Reached {
  bool is_there = false, evaluates = false, in_evaluation = false;
};

absl::StatusOr<Reached> repeat_steps(ReplayStart& start, std::optional<int64_t> step,
                                     StepReplay& replay, const TellProgress& tell) {
  Trainer& trainer = *start.trainer;
  const TrainOptions& train = start.config.train;
  if (!step && start.evaluation_is_due && !evaluates_well(start)) {
    return Reached{.is_there = true, .evaluates = true, .in_evaluation = true};
  }
  if (start.is_damaged) return Reached{.is_there = true};
  while (trainer.steps_made() < train.steps && (step || !start.has_ended)) {
    const int64_t number = trainer.steps_made() + 1;
    if (step && number == *step) return Reached{.is_there = true};
    tell(absl::StrCat("repeating step ", number));
    const Checkpoint before = copy_of(start);
    const absl::StatusOr<StepResult> result = trainer.step();
    const bool evaluates = result.ok() && is_evaluated(train, number);
    const bool is_good = result.ok() && trainer.first_not_finite().empty() &&
                         (step || !evaluates || evaluates_well(start));
    if (!is_good) {
      RETURN_IF_ERROR(restore("", before, trainer.evaluated_model(), &trainer.optimizer(),
                              CheckpointNumbers::kAny));
      if (step) {
        return failed_precondition("--step ", *step,
                                   ": the numbers of the run are finite up to step ", number - 1,
                                   " only; without --step, step ", number, " is looked at");
      }
      return Reached{.is_there = true, .evaluates = evaluates};
    }
    compare(start.metrics, number, *result, replay);
    if (!step && is_saved(start, number)) break;
  }
  return Reached{};
}

}  // namespace

absl::StatusOr<StepReplay> replay_run(const std::string& run, std::optional<int64_t> step,
                                      const TellProgress& tell) {
  if (step && *step < 1) {
    return invalid_argument("--step must be at least 1, not ", *step);
  }
  ASSIGN_OR_RETURN(ReplayStart begun, begin_replay(run, step));
  ReplayStart& start = begun;
  Trainer& trainer = *start.trainer;
  if (step && *step > start.config.train.steps) {
    return invalid_argument("--step ", *step, ": the run has ", start.config.train.steps, " steps");
  }
  StepReplay replay = {.run = run,
                       .checkpoint = start.checkpoint,
                       .first_step = trainer.steps_made(),
                       .growth_since = trainer.steps_made(),
                       .logged = std::ssize(start.metrics),
                       .notes = start.notes};
  std::vector<double> norms = norms_of(trainer.trained_parameters());
  ASSIGN_OR_RETURN(const Reached reached, repeat_steps(start, step, replay, tell));
  const int64_t made = trainer.steps_made();
  replay.step = made;
  if (!reached.is_there) return replay;
  if (made == replay.first_step && start.config.train.from.empty()) {
    norms = norms_of(parameters(make_model(start.config, start.dataset->shape())));
    replay.growth_since = 0;
  }
  replay.growth = growth_of(trainer.trained_parameters(), norms, made - replay.growth_since);
  replay.step = reached.in_evaluation ? made : made + 1;
  tell(absl::StrCat("looking at step ", replay.step));
  replay.recording = reached.in_evaluation
                         ? record_evaluation(trainer, start.config, *start.dataset)
                         : record_step(trainer, start.config, *start.dataset, reached.evaluates);
  if (replay.recording->first_bad() == replay.recording->entries.size()) return replay;
  replay.bad = find_first_bad(*replay.recording);
  const StepPart part = replay.recording->entries[replay.bad->entry].part;
  const bool is_updated = !reached.in_evaluation && part >= StepPart::kUpdate;
  if (!start.is_damaged) {
    replay.advice = advice_for_blow_up(start.config, made + (is_updated ? 1 : 0));
  }
  return replay;
}

}  // namespace qkv
