#include "cli/train.h"

#include <cstdlib>
#include <string_view>

#include "cli/kit.h"
#include "train/config/config_fields.h"
#include "train/watch/interrupt.h"

namespace qkv {
namespace {

void add_train_options(OptionList& options) {
  options.set();
  options.text("out", "DIR", "Folder of the run; by default runs/NAME");
  options.flag("resume", "Continues the run in its folder; CONFIG may also be that folder");
  options.text("from", "RUN",
               "Begins with the weights of this run or checkpoint, where names and shapes fit");
  options.flag("profile",
               "Measures the time of each op in some steps; writes profile.txt and trace.json");
}

// Where mpirun has started several processes, each would train alone.
absl::Status check_alone() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* processes = std::getenv(variable);
    if (!processes || std::string_view(processes) == "1") continue;
    return failed_precondition(
        "mpirun has started ", processes,
        " processes, but this program was built without MPI, so that each would train "
        "alone; cmake --preset mpi builds one that shares a run");
  }
  return absl::OkStatus();
}

absl::Status run_train(const std::string& argument, const GivenOptions& given) {
  const InterruptGuard interrupt;  // before anything else: a stop at any moment is a stop
  RETURN_IF_ERROR(check_alone());
  return train_as_given(argument, given, interrupt.token(),
                        [](const absl::StatusOr<LoadedConfig>& loaded,
                           const TrainingRunOptions& options) -> absl::StatusOr<RunOutcome> {
                          if (!loaded.ok()) return loaded.status();
                          return run_training(*loaded, options);
                        });
}

absl::StatusOr<std::string> examples(const std::string& /*config*/, const GivenOptions& /*given*/) {
  return R"(
Examples:
  ./qkv train configs/reverse.toml
  ./qkv train configs/reverse.toml --set train.steps=200 --out runs/short
  ./qkv train runs/reverse --resume --set train.steps=3000

qkv config --help explains each KEY of a CONFIG.
)";
}

}  // namespace

absl::Status train_as_given(const std::string& argument, const GivenOptions& given,
                            std::stop_token stop, const TrainLoaded& train) {
  TrainingRunOptions options = {.out = given.text("out"),
                                .resume = given.has("resume"),
                                .profile = given.has("profile"),
                                .stop = std::move(stop)};
  std::vector<std::string> overrides = given.set();
  if (given.has("from")) {
    overrides.push_back(absl::StrCat("train.from=", string_to_toml(given.text("from"))));
  }
  const absl::StatusOr<LoadedConfig> loaded = config_to_train(argument, overrides, options);
  ASSIGN_OR_RETURN(const RunOutcome outcome, train(loaded, options));
  if (outcome == RunOutcome::kInterrupted) return absl::CancelledError("interrupted");
  return absl::OkStatus();
}

Verb train_verb() {
  return {{"train", "CONFIG", "trains a model; writes a folder, by default runs/NAME"},
          add_train_options,
          run_train,
          examples};
}

}  // namespace qkv
