#include "train/run/train.h"

#include <cstdlib>
#include <exception>
#include <memory>

#include "cli/verbs.h"
#include "cli/version.h"
#include "train/config/config.h"
#include "train/config/toml_text.h"
#include "train/run/interrupt.h"
#include "train/run/start_together.h"

namespace qkv {
namespace {

void add_train_options(OptionList& options) {
  options.set();
  options.text("out", "DIR", "Folder of the run; by default runs/NAME");
  options.flag("resume", "Continues the run in its folder; CONFIG may also be that folder");
  options.text("from", "RUN",
               "Begins with the weights of this run, checkpoint or folder of Hugging Face's, where "
               "names and shapes fit");
  options.flag("profile",
               "Measures the time of each op in some steps; writes profile.txt and trace.json");
}

// Where an error leaves other ranks in the midst of a step, all of them end after one sentence.
[[noreturn]] void abort_ranks(Ranks& ranks, const std::string& what) {
  say_error(absl::StrCat("rank ", ranks.rank(), " (on ", ranks.host(), "): ", what));
  ranks.abort(1);
  std::_Exit(1);  // for the compiler, which does not know of that
}

absl::Status run_train(const std::string& argument, const GivenOptions& given) {
  const InterruptGuard interrupt;  // before anything else: a stop at any moment is a stop
  const absl::StatusOr<std::unique_ptr<Ranks>> started = start_ranks();
  if (!started.ok()) return started.status();
  Ranks* ranks = started->get();
  TrainingRunOptions options = {.out = given.text("out"),
                                .resume = given.has("resume"),
                                .profile = given.has("profile"),
                                .stop = interrupt.token(),
                                .ranks = ranks,
                                .program = version_text()};
  std::vector<std::string> overrides = given.set();
  if (given.has("from")) {
    overrides.push_back(absl::StrCat("train.from=", string_to_toml(given.text("from"))));
  }
  const absl::StatusOr<LoadedConfig> loaded = config_to_train(argument, overrides, options);
  absl::StatusOr<RunOutcome> outcome = RunOutcome::kFinished;
  if (!loaded.ok()) outcome = loaded.status();
  try {
    if (loaded.ok()) {
      outcome = run_training(*loaded, options);
    } else if (ranks && ranks->size() > 1) {
      outcome = start_together(*ranks, loaded.status(), {});
    }
  } catch (const std::exception& error) {
    if (!ranks || ranks->size() == 1) throw;
    abort_ranks(*ranks, error.what());
  }
  if (ranks && ranks->order_is_running && !outcome.ok()) {
    abort_ranks(*ranks, std::string(outcome.status().message()));
  }
  if (ranks && !ranks->leads()) return absl::OkStatus();  // rank 0 tells the result
  if (!outcome.ok()) return outcome.status();
  if (*outcome == RunOutcome::kInterrupted) return absl::CancelledError("interrupted");
  return absl::OkStatus();
}

}  // namespace

Verb train_verb() {
  return {{"train", "CONFIG", "trains a model; writes a folder, by default runs/NAME"},
          add_train_options,
          run_train};
}

}  // namespace qkv
