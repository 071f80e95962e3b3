#include "apps/runs/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/runs/replay/replay_start.h"
#include "framework/kernels/elementwise.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/experiment.h"
#include "train/loop/training_run.h"
#include "train/watch/finite.h"

namespace qkv {
namespace {

// The numbers that a step changes, as they were.
class Snapshot {
 public:
  explicit Snapshot(Trainer& trainer) : trainer_(trainer), steps_(trainer.steps_made()) {
    for (const NamedParameter& p : trainer.trained_parameters()) keep(p.tensor.array());
    for (const NamedState& state : trainer.optimizer().state()) keep(state.array);
    for (const Tensor& average : trainer.optimizer().averages()) keep(average.array());
  }

  void put_back() {
    for (auto& [array, copy] : kept_) {
      if (array.bytes() > 0) std::memcpy(array.mutable_raw(), copy.raw(), array.bytes());
    }
    trainer_.optimizer().set_steps(steps_);
  }

 private:
  void keep(const Array& array) { kept_.emplace_back(array, array.copy()); }

  Trainer& trainer_;
  int64_t steps_;
  std::vector<std::pair<Array, Array>> kept_;
};

bool all_finite(const Trainer& trainer) {
  return std::ranges::all_of(
             trainer.trained_parameters(),
             [](const NamedParameter& p) { return kernels::all_finite(p.tensor.array()); }) &&
         std::ranges::all_of(trainer.optimizer().state(), [](const NamedState& state) {
           return kernels::all_finite(state.array);
         });
}

bool is_saved(const TrainOptions& train, int64_t step) {
  return is_evaluated(train, step) || is_numbered(train, step);
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
  std::vector<double> norms;
  for (const NamedParameter& p : all) {
    norms.push_back(std::sqrt(static_cast<double>(kernels::sum_of_squares(p.tensor.array()))));
  }
  return norms;
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
    Snapshot before(trainer);
    const absl::StatusOr<StepResult> result = trainer.step();
    const bool evaluates = result.ok() && is_evaluated(train, number);
    const bool is_good =
        result.ok() && all_finite(trainer) && (step || !evaluates || evaluates_well(start));
    if (!is_good) {
      if (result.ok()) before.put_back();
      if (step) {
        return absl::FailedPreconditionError(
            absl::StrCat("--step ", *step, ": the numbers of the run are finite up to step ",
                         number - 1, " only; without --step, step ", number, " is looked at"));
      }
      return Reached{.is_there = true, .evaluates = evaluates};
    }
    compare(start.metrics, number, *result, replay);
    if (!step && is_saved(train, number)) break;
  }
  return Reached{};
}

}  // namespace

absl::StatusOr<StepReplay> replay_run(const std::string& run, std::optional<int64_t> step,
                                      const TellProgress& tell) {
  if (step && *step < 1) {
    return absl::InvalidArgumentError(absl::StrCat("--step must be at least 1, not ", *step));
  }
  absl::StatusOr<ReplayStart> begun = begin_replay(run, step);
  if (!begun.ok()) return begun.status();
  ReplayStart& start = *begun;
  Trainer& trainer = *start.trainer;
  if (step && *step > start.config.train.steps) {
    return absl::InvalidArgumentError(
        absl::StrCat("--step ", *step, ": the run has ", start.config.train.steps, " steps"));
  }
  StepReplay replay = {.run = run,
                       .checkpoint = start.checkpoint,
                       .first_step = trainer.steps_made(),
                       .differs_at = {},
                       .recording = {},
                       .bad = {},
                       .growth = {},
                       .growth_since = trainer.steps_made(),
                       .logged = std::ssize(start.metrics),
                       .notes = start.notes,
                       .advice = {}};
  std::vector<double> norms = norms_of(trainer.trained_parameters());
  const absl::StatusOr<Reached> reached = repeat_steps(start, step, replay, tell);
  if (!reached.ok()) return reached.status();
  const int64_t made = trainer.steps_made();
  replay.step = made;
  if (!reached->is_there) return replay;
  if (made == replay.first_step && start.config.train.from.empty()) {
    norms = norms_of(parameters(make_model(start.config, start.dataset->shape())));
    replay.growth_since = 0;
  }
  replay.growth = growth_of(trainer.trained_parameters(), norms, made - replay.growth_since);
  replay.step = reached->in_evaluation ? made : made + 1;
  tell(absl::StrCat("looking at step ", replay.step));
  replay.recording = reached->in_evaluation
                         ? record_evaluation(trainer, start.config, *start.dataset)
                         : record_step(trainer, start.config, *start.dataset, reached->evaluates);
  if (replay.recording->first_bad() == replay.recording->entries.size()) return replay;
  replay.bad = find_first_bad(*replay.recording);
  const StepPart part = replay.recording->entries[replay.bad->entry].part;
  const bool is_updated = !reached->in_evaluation && part >= StepPart::kUpdate;
  if (!start.is_damaged) {
    replay.advice = advice_for_blow_up(start.config, made + (is_updated ? 1 : 0));
  }
  return replay;
}

}  // namespace qkv
