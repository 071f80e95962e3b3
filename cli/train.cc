#include "cli/verbs.h"
#include "train/config/config.h"
#include "train/run/training_run.h"

namespace qkv {
namespace {

void add_options(OptionList& options) {
  options.set();
  options.text("out", "DIR", "The run's folder");
  options.flag("resume", "Goes on with the run in that folder");
  options.flag("profile", "Writes where the time of some steps goes: profile.txt, trace.json");
}

absl::Status run(const std::string& config, const GivenOptions& given) {
  absl::StatusOr<LoadedConfig> loaded = load_config(config, given.set());
  if (!loaded.ok()) return loaded.status();
  const absl::StatusOr<RunOutcome> outcome = run_training(
      *loaded,
      {.out = given.text("out"), .resume = given.has("resume"), .profile = given.has("profile")});
  if (!outcome.ok()) return outcome.status();
  if (*outcome == RunOutcome::kInterrupted) return absl::CancelledError("interrupted");
  return absl::OkStatus();
}

}  // namespace

Verb train_verb() {
  return {"train", "CONFIG", "trains; writes a folder, by default runs/NAME", add_options, run};
}

}  // namespace qkv
