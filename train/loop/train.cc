#include "train/loop/train.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/core/memory/out_of_memory.h"
#include "framework/core/text/utf8.h"
#include "framework/kernels/parallel.h"
#include "train/folder/experiment.h"
#include "train/folder/reading_progress.h"
#include "train/loop/resume.h"
#include "train/loop/step_forecast.h"
#include "train/watch/profile.h"
#include "train/watch/progress.h"

namespace qkv {
namespace {

void introduce(const TrainingRun& run, Progress& progress) {
  const Config& config = run.config();
  const kernels::StartedThreads threads = kernels::start_threads();
  progress.say(absl::StrFormat("%s: %d parameters, %s, %d threads, into %s", config.name,
                               parameter_count(parameters(run.model())),
                               name_of(config.train.precision), threads.count,
                               printable(run.folder().path())));
  if (!threads.why_fewer.empty()) {
    progress.say(absl::StrCat("the system gives only ", threads.count, " of ",
                              kernels::num_threads(), " threads (", threads.why_fewer,
                              "); the results are the same, but take longer"));
  }
  if (const std::string note = precision_note(config.train); !note.empty()) progress.say(note);
  if (run.state().step > 0) {
    progress.say(absl::StrCat("continuing after step ", run.state().step));
  }
  for (const std::string& change : run.changes()) progress.say(change);
  const bool other_rates = std::ranges::any_of(run.changes(), [](const std::string& change) {
    return absl::StartsWith(change, "train.steps ") || absl::StartsWith(change, "optimizer.");
  });
  if (other_rates && config.optimizer.schedule != Schedule::kConstant) {
    progress.say(absl::StrCat("the ", name_of(config.optimizer.schedule),
                              " schedule of the learning rate is that of all ", config.train.steps,
                              " steps from here on"));
  }
}

std::string describe_end(const TrainingRun& run) {
  const TrainOptions& train = run.config().train;
  const RunState& state = run.state();
  if (state.step == train.steps) return absl::StrCat("it has made all ", train.steps, " steps");
  return absl::StrCat(
      "after step ", state.step, " of ", train.steps,
      " the validation loss has not become smaller in ", state.evaluations_since_best,
      state.evaluations_since_best == 1 ? " evaluation" : " evaluations", " (train.patience)");
}

void tell_result(const TrainingRun& run, Progress& progress) {
  const RunState& state = run.state();
  progress.say(absl::StrFormat(
      "trained %d steps in %s; the best validation loss is %.4f, at step %d", state.step,
      format_duration(run.elapsed_seconds()), state.best_val_loss, state.best_step));
}

void conclude(const TrainingRun& run, Progress& progress) {
  tell_result(run, progress);
  progress.say(absl::StrCat("wrote ", printable(run.folder().path()),
                            ": config.toml, metrics.jsonl, samples.txt, "
                            "checkpoints/best.safetensors"));
}

absl::StatusOr<RunOutcome> run_and_tell(TrainingRun& run, const Dataset& dataset,
                                        const std::vector<std::string>& notes,
                                        const TrainingRunOptions& options) {
  const int64_t begin = run.state().step, end = run.config().train.steps;
  Progress progress(begin, end, dataset.shape().unit(), options.output);
  if (run.is_finished()) {
    progress.say(absl::StrCat("this run is already finished: ", describe_end(run)));
    for (const std::string& change : run.changes()) {
      progress.say(absl::StrCat("this change has no effect: ", change));
    }
    tell_result(run, progress);
    return RunOutcome::kFinished;
  }
  introduce(run, progress);
  for (const std::string& note : notes) progress.say(note);
  RunProfile profile(run.folder(), end - begin);
  std::vector<RunListener*> listeners = options.listeners;
  listeners.push_back(&progress);
  if (options.profile) listeners.push_back(&profile);
  ASSIGN_OR_RETURN(RunOutcome outcome, run.run(listeners));
  if (outcome == RunOutcome::kInterrupted) {
    progress.say(absl::StrCat("stopped after step ", run.state().step, " of ", end,
                              "; saved. The same command with --resume continues"));
    return outcome;
  }
  if (outcome == RunOutcome::kOutOfTime) {
    progress.say(absl::StrFormat(
        "stopped after step %d of %d, after %s of training (train.max_minutes = %g); saved. The "
        "same command with --resume and more minutes continues",
        run.state().step, end, format_duration(run.elapsed_seconds()),
        run.config().train.max_minutes));
    return outcome;
  }
  if (run.state().step < end) progress.say(absl::StrCat("ended: ", describe_end(run)));
  conclude(run, progress);
  if (options.profile && profile.complete()) progress.say(profile.describe());
  return outcome;
}

}  // namespace

absl::StatusOr<LoadedConfig> config_to_train(const std::string& path,
                                             const std::vector<std::string>& overrides,
                                             TrainingRunOptions& options) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return load_config(path, overrides);
  if (!options.resume) {
    return invalid_argument(
        path,
        " is a folder, but CONFIG must be a file; to continue the run in the folder: qkv train ",
        path, " --resume");
  }
  if (options.out.empty()) options.out = path;
  return load_config(absl::StrCat(path, "/config.toml"), overrides);
}

absl::StatusOr<PreparedRun> prepare_run(const LoadedConfig& loaded,
                                        const TrainingRunOptions& options) {
  const Config& config = loaded.config;
  kernels::set_num_threads(0);
  const int64_t cores = kernels::num_threads();
  kernels::set_num_threads(config.train.threads > 0 ? static_cast<int>(config.train.threads)
                                                    : options.threads);
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> dataset, make_dataset(config, options.stop));
  const uint64_t available = available_memory();
  const StepForecast forecast = foresee_step(config, *dataset, available);
  RETURN_IF_ERROR(check_memory(forecast, available));
  std::vector<std::string> notes = loaded.notes;
  for (const std::string& note : dataset->notes()) notes.push_back(note);
  if (config.train.threads > cores) {
    notes.push_back(absl::StrCat("train.threads is ", config.train.threads, ", but qkv has ", cores,
                                 cores == 1 ? " core" : " cores",
                                 " here; more threads than cores take longer, to the same bits"));
  }
  if (config.train.tensorboard &&
      std::ranges::count(listeners_of_apps(), "tensorboard", &ListenerOfApp::name) == 0) {
    notes.push_back("train.tensorboard has no effect: the app that writes event files is not here");
  }
  notes.push_back(absl::StrCat("training needs ", describe(forecast), "; ",
                               describe_bytes(available), " are free"));
  return PreparedRun{std::move(dataset), std::move(notes)};
}

absl::Status cannot_begin(absl::Status why, const TrainingRunOptions& options) {
  if (absl::IsCancelled(why)) {
    ProgressLine(options.output).say(absl::StrCat(why.message(), "; nothing was written"));
  }
  return why;
}

absl::StatusOr<RunOutcome> train_prepared(PreparedRun prepared, const Config& config,
                                          const TrainingRunOptions& options) {
  const Dataset& dataset = *prepared.dataset;
  std::vector<std::string>& notes = prepared.notes;
  // Before there is a folder: the weights of train.from may not fit.
  ASSIGN_OR_RETURN(const FirstWeights first,
                   options.resume ? FirstWeights() : find_first_weights(config, dataset));
  notes.insert(notes.begin(), first.notes.begin(), first.notes.end());
  const std::string out = options.out.empty() ? absl::StrCat("runs/", config.name) : options.out;
  ASSIGN_OR_RETURN(RunFolder folder,
                   options.resume ? open_to_resume(out, config) : RunFolder::create(out, config));
  TrainingRun run(config, dataset, std::move(folder), options.stop, options.differentiate);
  RETURN_IF_ERROR(options.resume ? run.resume() : run.begin(first));
  return run_and_tell(run, dataset, notes, options);
}

absl::StatusOr<RunOutcome> run_training(const LoadedConfig& loaded,
                                        const TrainingRunOptions& options) {
  absl::StatusOr<PreparedRun> prepared = prepare_run(loaded, options);
  if (!prepared.ok()) return cannot_begin(prepared.status(), options);
  return train_prepared(*std::move(prepared), loaded.config, options);
}

}  // namespace qkv
