// docs/mechanisms.md points at what there is.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "data/tasks/tasks.h"
#include "framework/io/files.h"
#include "tests/train/config/parsed.h"

namespace qkv {
namespace {

const std::string& page() {
  static const auto& text =
      *new std::string(read_file(QKV_SOURCE_DIR "/docs/mechanisms.md", 1 << 20).value());
  return text;
}

// What of the page matches, each once or more often.
std::vector<std::string> found(const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> all;
  for (std::sregex_iterator i(page().begin(), page().end(), regex), end; i != end; ++i) {
    all.push_back((*i)[1]);
  }
  EXPECT_GT(all.size(), 4u) << pattern;
  return all;
}

TEST(MechanismsDocsTest, EveryLineOfAConfigIsOne) {
  for (const std::string& line : found("`([a-z]+\\.[a-z_]+ = [^`]*)`")) {
    const std::string text = mistakes(line);  // that another choice does not read it is none here
    EXPECT_FALSE(absl::StrContains(text, "unknown key") || absl::StrContains(text, "must be"))
        << line << ": " << text;
  }
  for (const std::string& key : found("`((model|attention|data)\\.[a-z_]+)`")) {
    EXPECT_FALSE(absl::StrContains(mistakes(absl::StrCat(key, " = []")), "unknown key")) << key;
  }
}

TEST(MechanismsDocsTest, EveryTestIsOne) {
  std::string sources;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(QKV_SOURCE_DIR "/tests")) {
    if (entry.path().extension() == ".cc") {
      sources += read_file(entry.path().string(), 1 << 20).value_or("");
    }
  }
  for (const std::string& name : found("`([A-Z][A-Za-z]+Test\\.[A-Za-z0-9]+)`")) {
    const std::vector<std::string> parts = absl::StrSplit(name, '.');
    EXPECT_TRUE(absl::StrContains(sources, absl::StrCat("(", parts[0], ", ", parts[1], ")")))
        << name;
  }
}

TEST(MechanismsDocsTest, EveryConfigIsOne) {
  int configs = 0;
  for (const auto line : absl::StrSplit(page(), '\n')) {
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() != 6) continue;
    const std::vector<std::string> parts = absl::StrSplit(cells[4], '`');
    for (size_t i = 1; i < parts.size(); i += 2) {
      if (parts[i].starts_with("./")) continue;  // a command
      ++configs;
      EXPECT_TRUE(
          std::filesystem::exists(absl::StrCat(QKV_SOURCE_DIR "/configs/", parts[i], ".toml")))
          << parts[i];
    }
  }
  EXPECT_GT(configs, 9);
}

// docs/file-formats.md has a row for every task.

// The first cells of the first table with that head, without their quotes.
std::vector<std::string> rows_of_table(const std::string& head) {
  const std::string page = read_file(QKV_SOURCE_DIR "/docs/file-formats.md", 1 << 20).value();
  const std::vector<std::string> parts = absl::StrSplit(page, absl::MaxSplits(head, 1));
  std::vector<std::string> rows;
  for (absl::string_view line : absl::StrSplit(parts.back(), '\n')) {
    if (absl::ConsumePrefix(&line, "| `")) rows.emplace_back(line.substr(0, line.find('`')));
    if (line.empty() && !rows.empty()) break;
  }
  return rows;
}

TEST(ConfigDocsTest, EveryTaskIsExplained) {
  std::vector<std::string> rows = rows_of_table("| task |"), tasks = task_names();
  std::ranges::sort(rows);
  std::ranges::sort(tasks);
  EXPECT_EQ(rows, tasks);
}

}  // namespace
}  // namespace qkv
