// docs/file-formats.md has a row for every task.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "data/tasks/tasks.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

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
