// docs/file-formats.md says of every key what the tables in the sources say.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "data/tasks/tasks.h"
#include "framework/io/files.h"
#include "tests/train/config/parsed.h"
#include "train/config/config.h"
#include "train/config/config_fields.h"

namespace qkv {
namespace {

using Row = std::map<std::string, std::string>;  // cell by the heading of its column
using Table = std::map<std::string, Row>;        // row by its first cell, without its quotes
using Words = std::vector<std::string>;

Words cells_of(const std::string& line) {
  Words cells = absl::StrSplit(line, '|');
  cells.erase(cells.begin());
  cells.pop_back();
  for (std::string& cell : cells) absl::StripAsciiWhitespace(&cell);
  return cells;
}

// The first table that begins at or after a line with that start.
Table table_at(const std::string& start, const std::string& document = "file-formats.md") {
  const auto text = read_file(QKV_SOURCE_DIR "/docs/" + document, 1 << 20);
  if (!text.ok()) return {};
  const Words lines = absl::StrSplit(*text, '\n');
  auto line = std::ranges::find_if(lines, [&](const auto& l) { return l.starts_with(start); });
  while (line != lines.end() && !line->starts_with('|')) ++line;
  if (line == lines.end()) return {};
  const Words headings = cells_of(*line);
  Table table;
  for (line += 2; line != lines.end() && line->starts_with('|'); ++line) {
    const Words cells = cells_of(*line);
    EXPECT_EQ(cells.size(), headings.size()) << *line;
    Row& row = table[cells[0].substr(1, cells[0].size() - 2)];
    for (size_t i = 0; i < std::min(headings.size(), cells.size()); ++i) {
      row[headings[i]] = cells[i];
    }
  }
  return table;
}

Table table_of_keys(const std::string& name) {
  return table_at(name.empty() ? "At the top:" : absl::StrCat("`[", name, "]`"));
}

// What stands between backquotes.
Words quoted_words(const std::string& text) {
  const Words parts = absl::StrSplit(text, '`');
  Words words;
  for (size_t i = 1; i < parts.size(); i += 2) words.push_back(parts[i]);
  return words;
}

TEST(ConfigDocsTest, EveryKeyStandsInItsTableAndNoOther) {
  Config config;
  for (const std::string& name : config_tables()) {
    Table table = table_of_keys(name);
    for (const Field& field : config_fields(config)) {
      if (field.table == name) {
        EXPECT_EQ(table.erase(field.name), 1u) << field.key();
      }
    }
    EXPECT_TRUE(table.empty()) << table.begin()->first;
  }
}

TEST(ConfigDocsTest, TheDefaultsAreTheDefaults) {
  Config config;
  std::string said;
  for (const Field& field : config_fields(config)) {
    const Words value = quoted_words(table_of_keys(field.table)[field.name]["default"]);
    ASSERT_EQ(value.size(), 1u) << field.key();
    absl::StrAppend(&said, field.key(), " = ", value[0], "\n");
  }
  EXPECT_EQ(config_changes(parsed(said), config), Overrides{});
}

TEST(ConfigDocsTest, WhatAChoiceCanBeIsListed) {
  Config config;
  for (const Field& field : config_fields(config)) {
    if (field.allowed.empty()) continue;
    Words listed;
    for (const std::string& word : quoted_words(table_of_keys(field.table)[field.name][""])) {
      if (word.starts_with('"')) listed.push_back(word.substr(1, word.size() - 2));
    }
    EXPECT_EQ(listed, field.allowed) << field.key();
  }
}

TEST(ConfigDocsTest, WhoReadsAKeyIsListed) {
  Config config;
  for (const Field& field : config_fields(config)) {
    Row row = table_of_keys(field.table)[field.name];
    EXPECT_EQ(quoted_words(row["read by"]), field.readers) << field.key();
  }
}

TEST(ConfigDocsTest, EveryTaskIsExplained) {
  Table table = table_at("| task |");
  for (const std::string& task : task_names()) EXPECT_EQ(table.erase(task), 1u) << task;
  EXPECT_TRUE(table.empty()) << table.begin()->first;
}

TEST(ConfigDocsTest, TheTableOfWhatMayChangeOnResumeIsThatOfTheFields) {
  Words keys;
  for (const auto& [key, row] : table_at("These keys may change", "training.md")) {
    keys.push_back(key);
  }
  Words fields = keys_that_may_change_on_resume();
  std::ranges::sort(fields);
  EXPECT_EQ(keys, fields);
}

}  // namespace
}  // namespace qkv
