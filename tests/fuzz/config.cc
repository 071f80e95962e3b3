#include "train/config/config.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/targets.h"

namespace qkv {
namespace {

void require_same_from_its_own_toml(const LoadedConfig& loaded) {
  const std::string text = to_toml_with_origins(loaded);
  const absl::StatusOr<LoadedConfig> again = parse_config(text, "again.toml");
  require(again.ok(), "a config's own TOML is a config", again.status().ToString());
  require(to_toml(again->config) == to_toml(loaded.config), "a config is the same when read again",
          text);
}

// c.toml:LINE:COLUMN: of a line that the file has.
void require_place_in_file(std::string_view line, int64_t lines) {
  const std::vector<std::string> parts = absl::StrSplit(std::string(line), absl::MaxSplits(':', 3));
  int64_t row = 0, column = 0;
  require(parts.size() == 4 && absl::SimpleAtoi(parts[1], &row) &&
              absl::SimpleAtoi(parts[2], &column) && row >= 1 && row <= lines && column >= 1,
          "a mistake has its place", line);
}

// A config file. Where it is understood it reads back the same from its own TOML; otherwise every
// mistake is one line with a place in the file.
void fuzz_config(std::string_view input) {
  const absl::StatusOr<LoadedConfig> loaded = parse_config(input, "c.toml");
  if (loaded.ok()) return require_same_from_its_own_toml(*loaded);
  require_good_message(loaded.status(), {"c.toml:"});
  const int64_t lines = std::ranges::count(input, '\n') + 1;
  for (const absl::string_view line : absl::StrSplit(loaded.status().message(), '\n')) {
    require_place_in_file({line.data(), line.size()}, lines);
  }
}
const bool kConfigIsAdded = add_fuzz_target({"config", fuzz_config});

// Up to three overrides as after --set, with a NUL between them.
void fuzz_set(std::string_view input) {
  const std::vector<std::string> overrides =
      absl::StrSplit(std::string(input), absl::MaxSplits('\0', 2));
  const absl::StatusOr<LoadedConfig> loaded = parse_config("", "c.toml", overrides);
  if (loaded.ok()) return require_same_from_its_own_toml(*loaded);
  require_good_message(loaded.status(), {"--set "});
}
const bool kSetIsAdded = add_fuzz_target({"set", fuzz_set});

}  // namespace
}  // namespace qkv
