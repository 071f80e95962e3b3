#include <algorithm>

#include "absl/strings/str_cat.h"
#include "framework/core/utf8.h"
#include "train/config/config.h"
#include "train/config/config_fields.h"
#include "train/config/suggest.h"

// A config as text: TOML, the help, the changes between two.

namespace qkv {
namespace {

// The fields table by table: a header before each, and what `line` makes of every field.
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

std::string padded(std::string text, size_t width) {
  // Counts characters, not bytes: a continuation byte of UTF-8 takes no room.
  const auto is_start = [](char c) { return (c & 0xc0) != 0x80; };
  const auto length = static_cast<size_t>(std::count_if(text.begin(), text.end(), is_start));
  if (length < width) text.append(width - length, ' ');
  return text;
}

std::string assignment(const Field& field) {
  return absl::StrCat(field.name, " = ", field.to_string());
}

}  // namespace

std::string to_toml(const Config& config) {
  Config copy = config;
  return table_by_table(read_fields(copy), assignment);
}

std::string to_toml_with_origins(const LoadedConfig& loaded) {
  constexpr size_t kWidth = 32;
  Config copy = loaded.config;
  return table_by_table(read_fields(copy), [&loaded](const Field& field) {
    const auto origin = loaded.origins.find(field.key());
    return absl::StrCat(padded(assignment(field), kWidth), " # ",
                        origin == loaded.origins.end() ? "default" : printable(origin->second));
  });
}

std::string config_help() {
  constexpr size_t kWidth = 32;
  Config defaults;
  return table_by_table(config_fields(defaults), [](const Field& field) {
    std::string meaning(field.description);
    const std::string range = field.range();
    if (!range.empty()) absl::StrAppend(&meaning, " Is ", range, ".");
    if (!field.allowed.empty()) {
      absl::StrAppend(&meaning, " Is one of:");
      for (size_t i = 0; i < field.allowed.size(); ++i) {
        absl::StrAppend(&meaning, i == 0 ? " " : ", ", field.allowed[i]);
      }
      absl::StrAppend(&meaning, ".");
    }
    if (!field.readers.empty()) {
      absl::StrAppend(&meaning, " Read by ", list_in_words(field.readers, "and"), ".");
    }
    return absl::StrCat(padded(assignment(field), kWidth), " # ", meaning);
  });
}

std::vector<std::string> config_changes(const Config& now, const Config& before) {
  Config now_copy = now, before_copy = before;
  const std::vector<Field> now_fields = config_fields(now_copy);
  const std::vector<Field> before_fields = config_fields(before_copy);
  std::vector<std::string> changes;
  for (size_t i = 0; i < now_fields.size(); ++i) {
    if (!now_fields[i].is_read || !before_fields[i].is_read) continue;
    const std::string value = now_fields[i].to_string(), old_value = before_fields[i].to_string();
    if (value == old_value) continue;
    changes.push_back(absl::StrCat(now_fields[i].key(), " is ", value, ", and was ", old_value));
  }
  return changes;
}

}  // namespace qkv
