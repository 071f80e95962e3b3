#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "framework/core/columns.h"
#include "framework/core/terminal.h"
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

constexpr int64_t kAssignmentColumns = 32;  // before a comment

std::string assignment(const Field& field) {
  return absl::StrCat(field.name, " = ", field.to_string());
}

}  // namespace

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

LoadedConfig compared_with_defaults(const Config& config) {
  LoadedConfig loaded;
  loaded.config = config;
  Config copy = config, defaults;
  const std::vector<Field> fields = config_fields(copy), of_defaults = config_fields(defaults);
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string value = of_defaults[i].to_string();
    if (fields[i].to_string() == value) continue;
    loaded.origins[fields[i].key()] = absl::StrCat("set; the default is ", value);
  }
  return loaded;
}

std::string meaning_of(const Field& field) {
  std::string meaning(field.description);
  const std::string range = field.range();
  if (!range.empty()) absl::StrAppend(&meaning, " Must be ", range, ".");
  if (!field.allowed.empty()) {
    absl::StrAppend(&meaning, " One of: ", absl::StrJoin(field.allowed, ", "), ".");
  }
  if (!field.readers.empty()) {
    absl::StrAppend(&meaning, " Read by ", list_in_words(field.readers, "and"), ".");
  }
  if (field.may_change_on_resume) absl::StrAppend(&meaning, " May change on --resume.");
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

std::vector<std::string> config_changes(const Config& now, const Config& before) {
  Config now_copy = now, before_copy = before;
  const std::vector<Field> now_fields = config_fields(now_copy);
  const std::vector<Field> before_fields = config_fields(before_copy);
  std::vector<std::string> changes;
  for (size_t i = 0; i < now_fields.size(); ++i) {
    if (!now_fields[i].is_read || !before_fields[i].is_read) continue;
    const std::string value = now_fields[i].to_string(), old_value = before_fields[i].to_string();
    if (value == old_value) continue;
    changes.push_back(absl::StrCat(now_fields[i].key(), " is ", value, ", but was ", old_value));
  }
  return changes;
}

std::vector<ConfigDifference> config_differences(const Config& a, const Config& b) {
  Config copy_a = a, copy_b = b;
  const std::vector<Field> of_a = config_fields(copy_a), of_b = config_fields(copy_b);
  const auto value_of = [](const Field& field) { return field.is_read ? field.to_string() : "–"; };
  std::vector<ConfigDifference> differences;
  for (size_t i = 0; i < of_a.size(); ++i) {
    const std::string value = value_of(of_a[i]), other = value_of(of_b[i]);
    if (value != other) differences.push_back({of_a[i].key(), value, other});
  }
  return differences;
}

std::vector<std::string> keys_that_may_change_on_resume() {
  Config config;
  std::vector<std::string> keys;
  for (const Field& field : config_fields(config)) {
    if (field.may_change_on_resume) keys.push_back(field.key());
  }
  return keys;
}

Config with_resumed_values(const Config& before, const Config& now) {
  Config result = before, copy = now;
  const std::vector<Field> to = config_fields(result), from = config_fields(copy);
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].may_change_on_resume) to[i].copy_value(from[i]);
  }
  return result;
}

}  // namespace qkv
