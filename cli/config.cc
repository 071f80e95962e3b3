#include "train/config/config.h"

#include "cli/verbs.h"

namespace qkv {
namespace {

void add_config_options(OptionList& options) { options.set(); }

absl::Status run_config(const std::string& config, const GivenOptions& given) {
  absl::StatusOr<LoadedConfig> loaded = load_config(config, given.set());
  if (!loaded.ok()) return loaded.status();
  print(to_toml_with_origins(*loaded));
  return absl::OkStatus();
}

}  // namespace

Verb config_verb() {
  return {{"config", "CONFIG", "prints the whole config, and where each value came from"},
          add_config_options,
          run_config};
}

}  // namespace qkv
