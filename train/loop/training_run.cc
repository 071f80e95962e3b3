#include "train/loop/training_run.h"

#include <cmath>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/text/tokenizer_json.h"
#include "framework/core/clock.h"
#include "framework/core/memory/out_of_memory.h"
#include "train/evaluate/evaluate.h"
#include "train/generate/samples.h"
#include "train/loop/resume.h"
#include "train/watch/finite.h"
#include "train/watch/measure_detail.h"

namespace qkv {
namespace {

constexpr int64_t kSamples = 3;
constexpr int64_t kFilm = 8;                  // checkpoints that show how a small model learned
constexpr int64_t kSmallParameters = 250000;  // a film of 24 MB with Adam's moments

}  // namespace

bool is_numbered(const TrainOptions& options, int64_t parameters, int64_t step) {
  int64_t interval = options.checkpoint_interval;
  if (interval < 0) {
    interval = parameters <= kSmallParameters ? (options.steps + kFilm - 1) / kFilm : 0;
  }
  return interval > 0 && step % interval == 0;
}

bool is_evaluated(const TrainOptions& options, int64_t step) {
  return step == options.steps || step % options.eval_interval == 0;
}

bool is_logged(const TrainOptions& options, int64_t step) {
  return is_evaluated(options, step) || is_detailed(options, step) ||
         step % options.log_interval == 0;
}

bool has_ended(const TrainOptions& options, const RunState& state) {
  const bool has_lost_patience =
      options.patience > 0 && state.evaluations_since_best >= options.patience;
  return state.step == options.steps || has_lost_patience;
}

TrainingRun::TrainingRun(Config config, const Dataset& dataset, RunFolder folder,
                         std::stop_token stop, Trainer::Differentiate differentiate)
    : config_(std::move(config)),
      dataset_(dataset),
      stop_(std::move(stop)),
      folder_(std::move(folder)),
      trainer_(config_, dataset, std::move(differentiate)) {}

absl::Status TrainingRun::begin(const FirstWeights& weights) {
  trainer_.begin_with(weights);
  RETURN_IF_ERROR(open_files());
  if (const std::string tokenizer = tokenizer_json(dataset_.vocabulary()); !tokenizer.empty()) {
    RETURN_IF_ERROR(write_file_atomically(folder_.tokenizer(), tokenizer));
  }
  return save_last();
}

absl::Status TrainingRun::resume() {
  ASSIGN_OR_RETURN(const ResumedRun resumed, resume_from(folder_, config_, dataset_, trainer_));
  state_ = resumed.state;
  elapsed_seconds_ = *std::exchange(state_.elapsed_seconds, std::nullopt);
  changes_ = resumed.changes;
  return open_files();
}

absl::StatusOr<RunOutcome> TrainingRun::run(const std::vector<RunListener*>& listeners) {
  listeners_ = listeners;
  for (const ListenerOfApp& each : listeners_of_apps()) {
    of_apps_.push_back(each.make(config_));
    if (of_apps_.back()) listeners_.push_back(of_apps_.back().get());
  }
  absl::Status status;
  for (RunListener* listener : listeners_) {
    status.Update(listener->begin(folder_.path(), state_.step + (state_.unwritten ? 0 : 1)));
  }
  if (status.ok() && state_.unwritten) status = after_step(*state_.unwritten);
  while (status.ok() && !has_ended(config_.train, state_) && !is_out_of_time() && !is_stopped()) {
    status = next_step();
  }
  const bool stopped =
      absl::IsCancelled(status) || (status.ok() && !has_ended(config_.train, state_));
  if (stopped) status = save_where_it_stands();
  if (!status.ok()) return explain(status);
  if (!stopped) return RunOutcome::kFinished;
  return is_stopped() ? RunOutcome::kInterrupted : RunOutcome::kOutOfTime;
}

bool TrainingRun::is_out_of_time() const {
  const double limit = config_.train.max_minutes * 60;
  return limit > 0 && elapsed_seconds_ >= limit;
}

// Memory that runs out ends the run as a full disk does.
absl::Status TrainingRun::next_step() {
  const int64_t number = state_.step + 1;
  try {
    return step();
  } catch (const std::bad_alloc& error) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "step ", number, ": ", OutOfMemory::of(error).what(),
        "; a smaller batch_size or eval_batch_size, or more accumulation_steps, need less "
        "memory"));
  }
}

absl::Status TrainingRun::step() {
  const Clock::time_point start = Clock::now();
  for (RunListener* listener : listeners_) listener->before_step();
  ASSIGN_OR_RETURN(const StepResult result, trainer_.step());
  const Metrics metrics = measured(result, seconds_since(start));
  state_.step = metrics.step;
  if (is_logged(config_.train, metrics.step)) state_.unwritten = metrics;
  for (RunListener* listener : listeners_) {
    RETURN_IF_ERROR(listener->after_step());
  }
  return after_step(metrics);
}

// Each line may fail or be stopped; a resumed run then does this again, whole, because the metrics
// are unwritten until the last line.
absl::Status TrainingRun::after_step(const Metrics& metrics) {
  StepReport step = {.metrics = metrics,
                     .logged = is_logged(config_.train, metrics.step),
                     .evaluated = is_evaluated(config_.train, metrics.step),
                     .samples = ""};
  if (step.logged) {
    RETURN_IF_ERROR(check_place());
    state_.tokens_since_log = 0;
    state_.seconds_since_log = 0;
  }
  if (step.evaluated) {
    RETURN_IF_ERROR(evaluate(step));
  }
  for (RunListener* listener : listeners_) listener->report(step);
  RETURN_IF_ERROR(append_lines(step));
  state_.unwritten.reset();
  return save_checkpoints(step);
}

Metrics TrainingRun::measured(const StepResult& result, double seconds) {
  elapsed_seconds_ += seconds;
  state_.seconds_since_log += seconds;
  state_.tokens_since_log += result.tokens;
  Metrics metrics;
  metrics.step = trainer_.steps_made();
  metrics.loss = result.loss;
  metrics.learning_rate = result.learning_rate;
  metrics.grad_norm = result.grad_norm;
  metrics.tokens_per_second =
      static_cast<double>(state_.tokens_since_log) / state_.seconds_since_log;
  metrics.elapsed_seconds = elapsed_seconds_;
  metrics.detail = result.detail;
  return metrics;
}

absl::Status TrainingRun::evaluate(StepReport& step) {
  const auto tell = [&](const std::string& what) {
    for (RunListener* listener : listeners_) listener->evaluating(what);
  };
  Metrics& metrics = step.metrics;
  ASSIGN_OR_RETURN(const Evaluation validation, trainer_.evaluate(Split::kValidation, stop_, tell));
  if (!std::isfinite(validation.loss)) {
    return data_loss("step ", metrics.step, ": the validation loss is ", validation.loss,
                     ", not a finite number; this step was not saved. ",
                     advice_for_blow_up(config_, metrics.step));
  }
  metrics.val_loss = validation.loss;
  if (dataset_.has_answers()) {
    metrics.val_token_accuracy = validation.token_accuracy;
    metrics.val_sequence_accuracy = validation.sequence_accuracy;
    metrics.val_end_accuracy = validation.end_accuracy;
    ASSIGN_OR_RETURN(const Evaluation training, trainer_.evaluate(Split::kTraining, stop_, tell));
    metrics.train_sequence_accuracy = training.sequence_accuracy;
  }
  tell("writing samples");
  ASSIGN_OR_RETURN(step.samples,
                   describe_samples(trainer_.evaluated_model(), dataset_, kSamples, stop_));
  return absl::OkStatus();
}

absl::Status TrainingRun::open_files() {
  ASSIGN_OR_RETURN(AppendFile metrics, AppendFile::open(folder_.metrics()));
  ASSIGN_OR_RETURN(AppendFile samples, AppendFile::open(folder_.samples()));
  metrics_.emplace(std::move(metrics));
  samples_.emplace(std::move(samples));
  return absl::OkStatus();
}

absl::Status TrainingRun::append_lines(const StepReport& step) {
  if (step.evaluated) {
    const std::string part = absl::StrCat("step ", step.metrics.step, "\n", step.samples, "\n");
    RETURN_IF_ERROR(samples_->append(part));
  }
  if (!step.logged) return absl::OkStatus();
  absl::Status status = metrics_->append(metrics_to_json(step.metrics));
  for (RunListener* listener : listeners_) {
    if (status.ok()) status = listener->record(step, trainer_.evaluated_model());
  }
  return status;
}

absl::Status TrainingRun::save_checkpoints(const StepReport& step) {
  const Metrics& metrics = step.metrics;
  const bool numbered =
      is_numbered(config_.train, parameter_count(trainer_.trained_parameters()), metrics.step);
  if (!step.evaluated && !numbered) return absl::OkStatus();
  RETURN_IF_ERROR(check_finite());
  if (metrics.val_loss && state_.best_step > 0 && *metrics.val_loss >= state_.best_val_loss) {
    ++state_.evaluations_since_best;
  } else if (metrics.val_loss) {
    state_.best_val_loss = *metrics.val_loss;
    state_.best_step = metrics.step;
    state_.evaluations_since_best = 0;
    RETURN_IF_ERROR(save(folder_.best_checkpoint()));
  }
  if (numbered) {
    RETURN_IF_ERROR(save(folder_.checkpoint(metrics.step)));
  }
  return save_last();
}

absl::Status TrainingRun::save(const std::string& path) {
  RETURN_IF_ERROR(metrics_->flush());
  RETURN_IF_ERROR(samples_->flush());
  for (RunListener* listener : listeners_) {
    RETURN_IF_ERROR(listener->flush());
  }
  return save_checkpoint(path, checkpoint_of(config_, dataset_, trainer_.evaluated_model(),
                                             trainer_.optimizer(), state_));
}

absl::Status TrainingRun::check_finite() {
  if (const std::string name = trainer_.first_not_finite(); !name.empty()) {
    return data_loss("step ", state_.step, ": ", name,
                     " is no longer finite; this step was not saved. ",
                     advice_for_blow_up(config_, state_.step));
  }
  return absl::OkStatus();
}

absl::Status TrainingRun::check_place() {
  const std::string before = folder_.path();
  const absl::StatusOr<bool> moved = folder_.follow();
  if (!moved.ok() || !*moved) return moved.status();
  RETURN_IF_ERROR(save_last());
  return absl::AbortedError(
      absl::StrCat(before, " was moved to ", folder_.path(),
                   " while the run trained into it; the run was saved there after step ",
                   state_.step, "; --resume --out ", folder_.path(), " continues it"));
}

absl::Status TrainingRun::explain(absl::Status status) {
  if (!absl::IsDataLoss(status) && !absl::IsAborted(status)) {
    if (absl::Status moved = check_place(); !moved.ok()) status = moved;
  }
  if (folder_.newest_checkpoint().value_or("").empty()) return status;
  const std::string where =
      absl::IsDataLoss(status) ? absl::StrCat("; qkv replay ", folder_.path(), " shows where") : "";
  return absl::Status(status.code(), absl::StrCat(status.message(), "; the checkpoints in ",
                                                  folder_.path(), " are kept", where));
}

absl::Status TrainingRun::save_where_it_stands() {
  RETURN_IF_ERROR(check_finite());
  RETURN_IF_ERROR(check_place());
  state_.elapsed_seconds = elapsed_seconds_;
  absl::Status saved = save_last();
  state_.elapsed_seconds.reset();
  return saved;
}

}  // namespace qkv
