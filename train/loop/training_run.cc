#include "train/loop/training_run.h"

#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/tokenizer_json.h"
#include "framework/core/clock.h"
#include "framework/core/out_of_memory.h"
#include "framework/io/files.h"
#include "train/folder/first_weights.h"
#include "train/loop/resume.h"

namespace qkv {

TrainingRun::TrainingRun(Config config, const Dataset& dataset, RunFolder folder,
                         std::stop_token stop, Trainer::Differentiate differentiate)
    : config_(std::move(config)),
      dataset_(dataset),
      stop_(std::move(stop)),
      trainer_(config_, dataset, std::move(differentiate)),
      record_(std::move(folder), config_, dataset, trainer_, state_, listeners_) {}

absl::Status TrainingRun::begin() {
  const absl::StatusOr<FirstWeights> first = find_first_weights(config_, dataset_);
  if (!first.ok()) return first.status();
  put_into(trainer_.model(), *first);
  put_into(trainer_.evaluated_model(), *first);  // the mean of these weights alone
  if (absl::Status s = record_.open(); !s.ok()) return s;
  if (const std::string tokenizer = tokenizer_json(dataset_.vocabulary()); !tokenizer.empty()) {
    absl::Status s = write_file_atomically(record_.folder().tokenizer(), tokenizer);
    if (!s.ok()) return s;
  }
  return record_.save_last();
}

absl::Status TrainingRun::resume() {
  const absl::StatusOr<ResumedRun> resumed =
      resume_from(record_.folder(), config_, dataset_, trainer_);
  if (!resumed.ok()) return resumed.status();
  state_ = resumed->state;
  state_.elapsed_seconds.reset();
  elapsed_seconds_ = resumed->elapsed_seconds;
  changes_ = resumed->changes;
  return record_.open();
}

absl::StatusOr<RunOutcome> TrainingRun::run(const std::vector<RunListener*>& listeners) {
  listeners_ = listeners;
  for (const ListenerOfApp& each : listeners_of_apps()) {
    of_apps_.push_back(each.make(config_));
    if (of_apps_.back()) listeners_.push_back(of_apps_.back().get());
  }
  absl::Status status;
  for (RunListener* listener : listeners_) {
    status.Update(listener->begin(folder().path(), state_.step + (state_.unwritten ? 0 : 1)));
  }
  if (status.ok() && state_.unwritten) status = after_step(*state_.unwritten);
  while (status.ok() && !has_ended(config_.train, state_) && !is_out_of_time() && !is_stopped()) {
    status = next_step();
  }
  const bool stopped =
      absl::IsCancelled(status) || (status.ok() && !has_ended(config_.train, state_));
  if (stopped) status = save_where_it_stands();
  if (!status.ok()) return record_.explain(status);
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
  const absl::StatusOr<StepResult> result = trainer_.step();
  if (!result.ok()) return result.status();
  const Metrics metrics = measured(*result, seconds_since(start));
  state_.step = metrics.step;
  if (is_logged(config_.train, metrics.step)) state_.unwritten = metrics;
  for (RunListener* listener : listeners_) {
    if (absl::Status s = listener->after_step(); !s.ok()) return s;
  }
  return after_step(metrics);
}

// Each line may fail or be stopped; a run that goes on then does this again, whole, because the
// metrics are unwritten until the last line.
absl::Status TrainingRun::after_step(const Metrics& metrics) {
  StepReport step = {.metrics = metrics,
                     .logged = is_logged(config_.train, metrics.step),
                     .evaluated = is_evaluated(config_.train, metrics.step),
                     .samples = ""};
  if (step.logged) {
    if (absl::Status s = record_.check_place(); !s.ok()) return s;
    state_.tokens_since_log = 0;
    state_.seconds_since_log = 0;
  }
  if (step.evaluated) {
    const auto tell = [&](const std::string& what) {
      for (RunListener* listener : listeners_) listener->evaluating(what);
    };
    absl::Status s = evaluate_step(config_, trainer_, dataset_, stop_, tell, step);
    if (!s.ok()) return s;
  }
  for (RunListener* listener : listeners_) listener->report(step);
  return record_.write(step);
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

absl::Status TrainingRun::save_where_it_stands() {
  if (absl::Status s = record_.check_finite(); !s.ok()) return s;
  if (absl::Status s = record_.check_place(); !s.ok()) return s;
  state_.elapsed_seconds = elapsed_seconds_;
  absl::Status saved = record_.save_last();
  state_.elapsed_seconds.reset();
  return saved;
}

}  // namespace qkv
