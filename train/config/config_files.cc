#include <algorithm>
#include <filesystem>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "data/file.h"
#include "framework/io/files.h"
#include "train/config/config.h"

namespace qkv {
namespace {

absl::Status no_config(const std::string& path, const std::string& why) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": is no config: it ", why,
                   "; a config is a short TOML file, which names data with data.path"));
}

}  // namespace

absl::StatusOr<std::string> read_config_file(const std::string& path) {
  constexpr uint64_t kMaxBytes = 64 << 10;
  absl::StatusOr<std::string> text = read_file(path, kMaxBytes);
  const bool is_too_large = text.status().message().find("has more than") != std::string::npos;
  if (!is_too_large && (!text.ok() || other_than_text(*text).empty())) return text;
  return no_config(path, is_too_large ? "has more than 65536 bytes" : other_than_text(*text));
}

absl::StatusOr<LoadedConfig> load_config(const std::string& path,
                                         const std::vector<std::string>& overrides) {
  const std::string in_run = absl::StrCat(path, "/config.toml");
  std::error_code ignored;
  const std::string& file = std::filesystem::exists(in_run, ignored) ? in_run : path;
  const absl::StatusOr<std::string> text = read_config_file(file);
  if (!text.ok()) return text.status();
  absl::StatusOr<LoadedConfig> config = parse_config(*text, file, overrides);
  static constexpr std::string_view kOfData[] = {".csv", ".tsv", ".txt", ".jsonl", ".ndjson"};
  const std::string ending = std::filesystem::path(file).extension();
  if (config.ok() || std::ranges::count(kOfData, ending) == 0) return config;
  return no_config(file, absl::StrCat("ends in ", ending, " and is not TOML"));
}

absl::StatusOr<Config> load_saved_config(const std::string& path) {
  const absl::StatusOr<std::string> text = read_config_file(path);
  if (!text.ok()) return text.status();
  return parse_saved_config(*text, path);
}

}  // namespace qkv
