#include "train/run/train.h"

#include "absl/strings/str_cat.h"
#include "cli/verbs.h"
#include "train/config/config.h"
#include "train/config/toml_text.h"
#include "train/run/interrupt.h"

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

absl::Status run_train(const std::string& argument, const GivenOptions& given) {
  const InterruptGuard interrupt;  // before anything else: a stop at any moment is a stop
  TrainingRunOptions options = {.out = given.text("out"),
                                .resume = given.has("resume"),
                                .profile = given.has("profile"),
                                .stop = interrupt.token()};
  std::vector<std::string> overrides = given.set();
  if (given.has("from")) {
    overrides.push_back(absl::StrCat("train.from=", string_to_toml(given.text("from"))));
  }
  const absl::StatusOr<LoadedConfig> loaded = config_to_train(argument, overrides, options);
  if (!loaded.ok()) return loaded.status();
  const absl::StatusOr<RunOutcome> outcome = run_training(*loaded, options);
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
