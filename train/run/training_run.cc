#include "train/run/training_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <stop_token>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "data/tasks/tasks.h"
#include "framework/core/out_of_memory.h"
#include "framework/kernels/parallel.h"
#include "train/run/checkpoint.h"
#include "train/run/checkpoint_keeper.h"
#include "train/run/evaluate.h"
#include "train/run/experiment.h"
#include "train/run/finite.h"
#include "train/run/metrics.h"
#include "train/run/progress.h"
#include "train/run/run_files.h"
#include "train/run/run_folder.h"
#include "train/run/run_profile.h"
#include "train/run/samples.h"
#include "train/run/trainer.h"

namespace qkv {
namespace {

constexpr int64_t kSamples = 3;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One training run, from its folder's first file to its last.
class TrainingRun {
 public:
  TrainingRun(const Config& config, const Dataset& dataset, RunFolder folder, std::stop_token stop)
      : config_(config),
        dataset_(dataset),
        folder_(std::move(folder)),
        stop_(std::move(stop)),
        trainer_(config, dataset),
        keeper_(folder_, config_, parameters(trainer_.model()), state_,
                [this](const std::string& path) { return save(path); }) {}

  // A run that has not made a step yet can be resumed, too.
  absl::Status begin() {
    if (absl::Status s = files_.open(folder_); !s.ok()) return s;
    return save(folder_.last_checkpoint());
  }

  // Goes on from the run's last checkpoint. Nothing in the folder changes before all of it fits.
  absl::Status restore_last();

  absl::StatusOr<RunOutcome> run(bool profiled);

 private:
  bool finished() const { return trainer_.steps_made() == config_.train.steps; }

  void introduce(Progress& progress) const;
  absl::Status next_step();
  absl::Status step();
  absl::Status after_step(const Metrics& metrics);
  absl::Status evaluate_now(StepReport& step) const;
  absl::Status tell_report(const StepReport& step);
  absl::Status save(const std::string& path);
  absl::Status check_folder();
  absl::Status explained(absl::Status status);
  absl::Status stop(Progress& progress);
  void conclude(Progress& progress) const;

  const Config config_;
  const Dataset& dataset_;
  RunFolder folder_;
  std::stop_token stop_;
  Trainer trainer_;
  RunState state_;
  RunFiles files_;
  CheckpointKeeper keeper_;
  std::vector<RunListener*> listeners_ = {&files_, &keeper_};
  double elapsed_seconds_ = 0;  // of training, over all resumes
  int64_t tokens_since_log_ = 0;
  double seconds_since_log_ = 0;
};

absl::Status TrainingRun::restore_last() {
  const absl::StatusOr<std::string> newest = folder_.newest_checkpoint();
  if (!newest.ok()) return newest.status();
  const std::string& path = *newest;
  absl::StatusOr<Checkpoint> checkpoint = load_checkpoint(path);
  if (!checkpoint.ok()) return checkpoint.status();
  Config comparable = checkpoint->config;
  comparable.train.threads = config_.train.threads;
  if (!config_changes(comparable, config_).empty() ||
      checkpoint->state.step > config_.train.steps) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": this is a checkpoint of another run than that of ", folder_.config()));
  }
  if (checkpoint->vocabulary.texts() != dataset_.vocabulary().texts()) {
    return absl::FailedPreconditionError(absl::StrCat(
        path,
        ": its vocabulary is not that of the data; the text has changed since the run began"));
  }
  if (const std::string other = other_data(*checkpoint, dataset_); !other.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": ", other, "; put that one back, or start a new run with another --out"));
  }
  state_ = checkpoint->state;
  absl::StatusOr<std::vector<Metrics>> before = read_metrics(folder_.metrics());
  if (absl::IsNotFound(before.status())) before.emplace();  // somebody has removed them
  if (!before.ok()) return before.status();
  for (const Metrics& metrics : *before) {
    if (metrics.step > state_.step) break;
    elapsed_seconds_ = metrics.elapsed_seconds.value_or(elapsed_seconds_);
  }
  if (absl::Status s = restore(path, *checkpoint, trainer_.model(), &trainer_.optimizer());
      !s.ok()) {
    return s;
  }
  const int64_t last_step = state_.unwritten ? state_.step - 1 : state_.step;
  if (absl::Status s = cut_metrics(folder_.metrics(), last_step); !s.ok()) return s;
  if (absl::Status s = cut_samples(folder_.samples(), last_step); !s.ok()) return s;
  return files_.open(folder_);
}

absl::StatusOr<RunOutcome> TrainingRun::run(bool profiled) {
  Progress progress(trainer_.steps_made(), config_.train.steps, dataset_.shape().unit());
  if (finished() && !state_.unwritten) {
    progress.say(
        absl::StrCat("this run is finished: all ", config_.train.steps, " steps were made before"));
    conclude(progress);
    return RunOutcome::kFinished;
  }
  introduce(progress);
  RunProfile profile(folder_, config_.train.steps - trainer_.steps_made());
  listeners_.insert(listeners_.begin(), &progress);
  if (profiled) listeners_.push_back(&profile);

  absl::Status status = state_.unwritten ? after_step(*state_.unwritten) : absl::OkStatus();
  while (status.ok() && !finished() && !stop_.stop_requested()) status = next_step();
  const bool stopped = absl::IsCancelled(status) || (status.ok() && !finished());
  if (stopped) status = stop(progress);
  if (!status.ok()) return explained(status);
  if (stopped) return RunOutcome::kInterrupted;
  conclude(progress);
  if (profiled && profile.complete()) progress.say(profile.describe());
  return RunOutcome::kFinished;
}

void TrainingRun::introduce(Progress& progress) const {
  const auto all = parameters(trainer_.model());
  const kernels::StartedThreads threads = kernels::start_threads();
  progress.say(absl::StrFormat("%s: %d parameters, %s, %d threads, into %s", config_.name,
                               parameter_count(all), name_of(config_.train.precision),
                               threads.count, folder_.path()));
  if (!threads.why_fewer.empty()) {
    progress.say(absl::StrCat("the system gives only ", threads.count, " of ",
                              kernels::num_threads(), " threads (", threads.why_fewer,
                              "); the results are the same, but take longer"));
  }
  if (const std::string note = precision_note(config_.train); !note.empty()) progress.say(note);
  if (trainer_.steps_made() > 0) {
    progress.say(absl::StrCat("going on after step ", trainer_.steps_made()));
  }
}

// Memory that runs out ends the run as a full disk does.
absl::Status TrainingRun::next_step() {
  const int64_t number = trainer_.steps_made() + 1;
  try {
    return step();
  } catch (const std::bad_alloc& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("step ", number, ": ", OutOfMemory::of(error).what(),
                     "; a smaller batch_size or more accumulation_steps need less memory"));
  }
}

absl::Status TrainingRun::step() {
  const Clock::time_point start = Clock::now();
  for (RunListener* listener : listeners_) listener->before_step();
  absl::StatusOr<StepResult> result = trainer_.step();
  if (!result.ok()) return result.status();
  const double seconds = seconds_since(start);
  for (RunListener* listener : listeners_) {
    if (absl::Status status = listener->after_step(); !status.ok()) return status;
  }
  state_.step = trainer_.steps_made();
  elapsed_seconds_ += seconds;
  tokens_since_log_ += result->tokens;
  seconds_since_log_ += seconds;

  Metrics metrics;
  metrics.step = state_.step;
  metrics.loss = result->loss;
  metrics.learning_rate = result->learning_rate;
  metrics.grad_norm = result->grad_norm;
  metrics.tokens_per_second = static_cast<double>(tokens_since_log_) / seconds_since_log_;
  metrics.elapsed_seconds = elapsed_seconds_;
  return after_step(metrics);
}

// Evaluates what is due after a step, and tells it. A stop meanwhile leaves all of it to the run
// that goes on.
absl::Status TrainingRun::after_step(const Metrics& metrics) {
  StepReport step;
  step.metrics = metrics;
  step.evaluated = finished() || state_.step % config_.train.eval_interval == 0;
  step.logged = step.evaluated || state_.step % config_.train.log_interval == 0;
  if (step.logged) {
    state_.unwritten = metrics;
    if (absl::Status status = check_folder(); !status.ok()) return status;
  }
  if (step.evaluated) {
    if (absl::Status status = evaluate_now(step); !status.ok()) return status;
  }
  return tell_report(step);
}

absl::Status TrainingRun::evaluate_now(StepReport& step) const {
  Metrics& metrics = step.metrics;
  const int64_t batch_size =
      config_.train.eval_batch_size > 0 ? config_.train.eval_batch_size : config_.train.batch_size;
  const absl::StatusOr<Evaluation> validation =
      evaluate(trainer_.model(), dataset_, Split::kValidation, batch_size, stop_);
  if (!validation.ok()) return validation.status();
  if (!std::isfinite(validation->loss)) {
    return absl::DataLossError(absl::StrCat("step ", metrics.step, ": the validation loss is ",
                                            validation->loss,
                                            ", not a finite number; this step was not saved.  ",
                                            advice_for_blow_up(config_, metrics.step)));
  }
  metrics.val_loss = validation->loss;
  if (dataset_.has_answers()) {
    metrics.val_token_accuracy = validation->token_accuracy;
    metrics.val_sequence_accuracy = validation->sequence_accuracy;
    const absl::StatusOr<Evaluation> training =
        evaluate(trainer_.model(), dataset_, Split::kTraining, batch_size, stop_);
    if (!training.ok()) return training.status();
    metrics.train_sequence_accuracy = training->sequence_accuracy;
  }
  const absl::StatusOr<std::string> samples =
      describe_samples(trainer_.model(), dataset_, kSamples, stop_);
  if (!samples.ok()) return samples.status();
  step.samples = *samples;
  return absl::OkStatus();
}

absl::Status TrainingRun::tell_report(const StepReport& step) {
  for (RunListener* listener : listeners_) {
    if (listener == &keeper_) state_.unwritten.reset();  // those before it have written it
    if (absl::Status status = listener->report(step); !status.ok()) return status;
  }
  if (step.logged) {
    tokens_since_log_ = 0;
    seconds_since_log_ = 0;
  }
  return absl::OkStatus();
}

absl::Status TrainingRun::save(const std::string& path) {
  for (RunListener* listener : listeners_) {
    if (absl::Status status = listener->before_checkpoint(); !status.ok()) return status;
  }
  return save_checkpoint(path, config_, dataset_, trainer_.model(), trainer_.optimizer(), state_);
}

// Where somebody has moved the folder, what would be lost is saved there.
absl::Status TrainingRun::check_folder() {
  const std::string before = folder_.path();
  absl::StatusOr<bool> moved = folder_.follow();
  if (!moved.ok() || !*moved) return moved.status();
  if (absl::Status status = save(folder_.last_checkpoint()); !status.ok()) return status;
  return absl::AbortedError(
      absl::StrCat(before, " was moved to ", folder_.path(),
                   " while the run trained into it; the run was saved there after step ",
                   state_.step, "; --resume --out ", folder_.path(), " continues it"));
}

// The error, or the one behind it, with what is kept.
absl::Status TrainingRun::explained(absl::Status status) {
  if (!absl::IsDataLoss(status) && !absl::IsAborted(status)) {
    if (absl::Status moved = check_folder(); !moved.ok()) status = moved;
  }
  if (folder_.newest_checkpoint().value_or("").empty()) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), "; the checkpoints in ",
                                                  folder_.path(), " are kept"));
}

absl::Status TrainingRun::stop(Progress& progress) {
  if (absl::Status status = keeper_.check_finite(state_.step); !status.ok()) return status;
  if (absl::Status status = check_folder(); !status.ok()) return status;
  if (absl::Status status = save(folder_.last_checkpoint()); !status.ok()) return status;
  progress.say(absl::StrCat("stopped after step ", state_.step, " of ", config_.train.steps,
                            "; saved. The same command with --resume goes on"));
  return absl::OkStatus();
}

void TrainingRun::conclude(Progress& progress) const {
  progress.say(absl::StrFormat(
      "trained %d steps in %s; the best validation loss is %.4f, at step %d", state_.step,
      format_duration(elapsed_seconds_), state_.best_val_loss, state_.best_step));
  progress.say(absl::StrCat("in ", folder_.path(),
                            ": config.toml, metrics.jsonl, samples.txt, "
                            "checkpoints/best.safetensors"));
}

// A resumed run goes on with the config it began with; train.threads alone may differ.
absl::Status check_same_config(const std::string& path, const Config& now) {
  absl::StatusOr<Config> before = load_saved_config(path);
  if (!before.ok()) return before.status();
  Config comparable = now;
  comparable.train.threads = before->train.threads;
  const std::vector<std::string> changes = config_changes(comparable, *before);
  if (changes.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--resume continues with the config of the run (", path, "), but this config differs: ",
      absl::StrJoin(changes, "; "), ". Undo the change, or start a new run with another --out"));
}

absl::StatusOr<RunFolder> open_folder(const std::string& path, const Config& config, bool resume) {
  if (!resume) return RunFolder::create(path, config);
  absl::StatusOr<RunFolder> folder = RunFolder::resume(path);
  if (!folder.ok()) return folder;
  if (absl::Status status = check_same_config(folder->config(), config); !status.ok()) {
    return status;
  }
  return folder;
}

}  // namespace

absl::StatusOr<RunOutcome> run_training(const LoadedConfig& loaded,
                                        const TrainingRunOptions& options) {
  const Config& config = loaded.config;
  kernels::set_num_threads(static_cast<int>(config.train.threads));
  absl::StatusOr<std::unique_ptr<Dataset>> dataset = make_dataset(config);
  if (!dataset.ok()) return dataset.status();

  const std::string out = options.out.empty() ? absl::StrCat("runs/", config.name) : options.out;
  absl::StatusOr<RunFolder> folder = open_folder(out, config, options.resume);
  if (!folder.ok()) return folder.status();
  TrainingRun run(config, **dataset, *std::move(folder), options.stop);
  const absl::Status begun = options.resume ? run.restore_last() : run.begin();
  if (!begun.ok()) return begun;
  return run.run(options.profile);
}

}  // namespace qkv
