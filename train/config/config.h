#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "framework/core/status.h"
#include "train/config/train_options.h"

namespace qkv {

// A config, and the origin of each of its values.
struct LoadedConfig {
  Config config;
  // By key ("model.d_model"): "configs/tiny.toml:7" or "--set". A key that is missing here has its
  // default.
  std::map<std::string, std::string> origins;
  // A sentence for each value changed so that the values fit, or that the file sets nothing.
  std::vector<std::string> notes = {};
};

// Reads a TOML file, or that of the folder of a run, then applies `overrides`, each "key=value" as
// after --set; the last one of a key counts. A value is TOML; for a string the quotes may be left
// out. Missing keys keep their defaults.
//
// All mistakes come in one Status, a line each, in the order they stand in:
//   configs/tiny.toml:7:1: unknown key "model.num_head"; did you mean "num_heads"?
//   --set train.steps=many: "train.steps": expected an integer, found a string
// Where an override makes train.steps fewer than the warm-up of the file, the warm-up is shortened
// in proportion. One mistake is a value, other than the default, that the task, the kind of the
// model or of the optimizer, or the schedule does not read.
absl::StatusOr<LoadedConfig> load_config(const std::string& path,
                                         const std::vector<std::string>& overrides = {});

// The text of a config file: where it is parsed more than once, as it may come from a pipe.
absl::StatusOr<std::string> read_config_file(const std::string& path);

// The same for a text; messages use `source` as the name of the file.
absl::StatusOr<LoadedConfig> parse_config(std::string_view text, const std::string& source,
                                          const std::vector<std::string>& overrides = {});

// Reads a config that to_toml() wrote into the folder of a run, or into a checkpoint. A key that
// nothing reads is not a mistake here, and has its default: older runs saved every key.
absl::StatusOr<Config> load_saved_config(const std::string& path);
absl::StatusOr<Config> parse_saved_config(std::string_view text, const std::string& source,
                                          const std::vector<std::string>& overrides = {});

// Every value that is read, as TOML. Parsing it gives the same config, to the last bit.
std::string to_toml(const Config& config);

// The same, with a comment at each value that names its origin.
std::string to_toml_with_origins(const LoadedConfig& loaded);

// Every key with its default, its meaning and its limits, in 80 columns, for --help.
std::string config_help();

// A line for each key that both read, and whose values differ: "train.steps is 500, and was 1000".
std::vector<std::string> config_changes(const Config& now, const Config& before);

// The keys that at least one of two configs reads with another value than the other, in the order
// of the fields. "–" stands where one does not read it.
struct ConfigDifference {
  std::string key, a, b;
};
std::vector<ConfigDifference> config_differences(const Config& a, const Config& b);

// The keys that may change where a run is resumed.
std::vector<std::string> keys_that_may_change_on_resume();
// `before` with the values that `now` has of these keys.
Config with_resumed_values(const Config& before, const Config& now);

}  // namespace qkv
