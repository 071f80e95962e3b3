#include "train/config/config.h"

#include "cli/kit.h"
#include "framework/core/memory/out_of_memory.h"
#include "train/folder/experiment.h"
#include "train/loop/step_forecast.h"

namespace qkv {
namespace {

void add_config_options(OptionList& options) {
  options.set();
  options.flag("summary", "Prints the layers of the model instead, with shapes, memory and work");
}

absl::Status run_config(const std::string& config, const GivenOptions& given) {
  ASSIGN_OR_RETURN(LoadedConfig loaded, load_config(config, given.set()));
  if (!given.has("summary")) {
    const std::string toml = to_toml_with_origins(loaded);
    is_terminal(stdout) ? show(toml) : print(toml);  // where a file is made of it, it stays TOML
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> dataset, make_dataset(loaded.config));
  const StepForecast forecast = foresee_step(loaded.config, *dataset, available_memory());
  show_table(model_summary(loaded.config, *dataset, forecast));
  return absl::OkStatus();
}

absl::StatusOr<std::string> every_key(const std::string& /*config*/,
                                      const GivenOptions& /*given*/) {
  return "\n" + config_help();
}

}  // namespace

Verb config_verb() {
  return {{"config", "CONFIG", "prints the whole config, and where each value came from"},
          add_config_options,
          run_config,
          every_key};
}

}  // namespace qkv
