#include <filesystem>

#include "absl/strings/str_cat.h"
#include "framework/io/files.h"
#include "train/config/config.h"

namespace qkv {

absl::StatusOr<std::string> read_config_file(const std::string& path) {
  constexpr uint64_t kMaxBytes = 64 << 10;
  return read_file(path, kMaxBytes);
}

absl::StatusOr<LoadedConfig> load_config(const std::string& path,
                                         const std::vector<std::string>& overrides) {
  const std::string in_run = absl::StrCat(path, "/config.toml");
  std::error_code ignored;
  const std::string& file = std::filesystem::exists(in_run, ignored) ? in_run : path;
  const absl::StatusOr<std::string> text = read_config_file(file);
  if (!text.ok()) return text.status();
  return parse_config(*text, file, overrides);
}

absl::StatusOr<Config> load_saved_config(const std::string& path) {
  const absl::StatusOr<std::string> text = read_config_file(path);
  if (!text.ok()) return text.status();
  return parse_saved_config(*text, path);
}

}  // namespace qkv
