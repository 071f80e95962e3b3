#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "data/file.h"
#include "framework/core/status.h"
#include "framework/core/text/columns.h"
#include "framework/core/text/terminal.h"
#include "framework/core/text/utf8.h"
#include "framework/io/files.h"
#include "train/config/config.h"
#include "train/config/config_fields.h"
#include "train/config/suggest.h"

// A config as text: its file, TOML, the help, the changes between two.

namespace qkv {
namespace {

// The fields table by table: a header before each, and `line` of every field.
template <class Line>
std::string table_by_table(const std::vector<Field>& fields, const Line& line) {
  std::string text, table;
  for (const Field& field : fields) {
    if (field.table != table) absl::StrAppend(&text, "\n[", field.table, "]\n");
    table = field.table;
    absl::StrAppend(&text, line(field), "\n");
  }
  return text;
}

std::vector<Field> read_fields(Config& config) {
  std::vector<Field> fields = config_fields(config);
  std::erase_if(fields, [](const Field& field) { return !field.is_read; });
  return fields;
}

constexpr int64_t kAssignmentColumns = 32;  // before a comment
constexpr char kUnread[] = "–";             // the value of a key that nothing reads

std::string assignment(const Field& field) {
  return absl::StrCat(field.name, " = ", field.to_string());
}

absl::Status no_config(const std::string& path, const std::string& why) {
  return invalid_argument(path, ": is not a config: it ", why,
                          "; a config is a short TOML file, which names data with data.path");
}

}  // namespace

std::string float_to_toml(double value) {
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, result.ptr);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";  // e: 1e-05; n: inf, nan
  return text;
}

std::string string_to_toml(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '\t') {
      text += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppendFormat(&text, "\\u%04X", byte);
    } else {
      text += c;
    }
  }
  return text + "\"";
}

absl::StatusOr<std::string> read_config_file(const std::string& path) {
  constexpr uint64_t kMaxBytes = 64 << 10;
  absl::StatusOr<std::string> text = read_file(path, kMaxBytes);
  const bool is_too_large = text.status().message().find("has more than") != std::string::npos;
  if (!is_too_large && (!text.ok() || other_than_text(*text).empty())) return text;
  return no_config(path, is_too_large ? absl::StrCat("has more than ", kMaxBytes, " bytes")
                                      : other_than_text(*text));
}

absl::StatusOr<LoadedConfig> load_config(const std::string& path,
                                         const std::vector<std::string>& overrides) {
  const std::string in_run = absl::StrCat(path, "/config.toml");
  std::error_code ignored;
  const std::string& file = std::filesystem::exists(in_run, ignored) ? in_run : path;
  ASSIGN_OR_RETURN(const std::string text, read_config_file(file));
  absl::StatusOr<LoadedConfig> config = parse_config(text, file, overrides);
  static constexpr std::string_view kDataEndings[] = {".csv", ".tsv", ".txt", ".jsonl", ".ndjson"};
  const std::string ending = std::filesystem::path(file).extension();
  if (config.ok() || std::ranges::count(kDataEndings, ending) == 0) return config;
  return no_config(file, absl::StrCat("ends in ", ending, " and is not TOML"));
}

absl::StatusOr<Config> load_saved_config(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, read_config_file(path));
  return parse_saved_config(text, path);
}

std::string to_toml(const Config& config) {
  Config copy = config;
  return table_by_table(read_fields(copy), assignment);
}

std::string to_toml_with_origins(const LoadedConfig& loaded) {
  Config copy = loaded.config;
  return table_by_table(read_fields(copy), [&loaded](const Field& field) {
    const auto origin = loaded.origins.find(field.key());
    return absl::StrCat(padded(assignment(field), kAssignmentColumns), " # ",
                        origin == loaded.origins.end() ? "default" : printable(origin->second));
  });
}

std::string meaning_of(const Field& field) {
  std::string meaning(field.description);
  const std::string range = field.limits.in_words();
  if (!range.empty()) absl::StrAppend(&meaning, " Must be ", range, ".");
  if (!field.choices.empty()) {
    absl::StrAppend(&meaning, " One of: ", absl::StrJoin(field.allowed(), ", "), ".");
  }
  if (!field.readers.empty()) {
    absl::StrAppend(&meaning, " Read by ", list_in_words(field.readers, "and"), ".");
  }
  if (field.limits.may_change_on_resume) absl::StrAppend(&meaning, " May change on --resume.");
  return meaning;
}

std::string config_help() {
  const std::string indent = padded("", kAssignmentColumns) + " # ";
  Config defaults;
  return table_by_table(config_fields(defaults), [&indent](const Field& field) {
    std::string lines = wrapped(meaning_of(field), text_columns(), indent);
    lines.pop_back();  // table_by_table() ends the line
    return lines.replace(0, kAssignmentColumns, padded(assignment(field), kAssignmentColumns));
  });
}

std::vector<ConfigDifference> config_differences(const Config& a, const Config& b) {
  Config copy_a = a, copy_b = b;
  const std::vector<Field> of_a = config_fields(copy_a), of_b = config_fields(copy_b);
  const auto value_of = [](const Field& f) { return f.is_read ? f.to_string() : kUnread; };
  std::vector<ConfigDifference> differences;
  for (size_t i = 0; i < of_a.size(); ++i) {
    const std::string value = value_of(of_a[i]), other = value_of(of_b[i]);
    if (value != other) differences.push_back({of_a[i].key(), value, other});
  }
  return differences;
}

std::vector<std::string> config_changes(const Config& now, const Config& before) {
  std::vector<std::string> changes;
  for (const auto& [key, value, old_value] : config_differences(now, before)) {
    if (value == kUnread || old_value == kUnread) continue;
    changes.push_back(absl::StrCat(key, " is ", value, ", but was ", old_value));
  }
  return changes;
}

std::vector<std::string> keys_that_may_change_on_resume() {
  Config config;
  std::vector<std::string> keys;
  for (const Field& field : config_fields(config)) {
    if (field.limits.may_change_on_resume) keys.push_back(field.key());
  }
  return keys;
}

Config with_resumed_values(const Config& before, const Config& now) {
  Config result = before, copy = now;
  const std::vector<Field> to = config_fields(result), from = config_fields(copy);
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].limits.may_change_on_resume) to[i].copy_value(from[i]);
  }
  return result;
}

}  // namespace qkv
