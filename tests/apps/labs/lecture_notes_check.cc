#include "tests/apps/labs/lecture_notes_check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

std::vector<std::string> lines_of(const std::string& text) { return absl::StrSplit(text, '\n'); }

std::string without_measured(const std::string& row) {
  const std::string cells = row.substr(0, row.rfind(" |"));
  return cells.substr(0, cells.rfind(" | "));
}

// The lines that Markdown has behind the commands of a lab, as far as they do not hang on numbers:
// the commands, and with `kAllButMeasured` the formulas and what was predicted.
std::vector<std::string> told_of(const std::string& lab, const std::string& markdown, Told told) {
  const std::string command = absl::StrCat("`./qkv lab ", lab, "`");
  std::vector<std::string> kept;
  bool is_inside = false;
  for (const std::string& line : lines_of(markdown)) {
    const bool is_command = absl::StartsWith(line, "`./qkv lab ");
    if (is_command || absl::StartsWith(line, "#")) is_inside = absl::StartsWith(line, command);
    if (!is_inside) continue;
    const bool is_row = absl::StartsWith(line, "| "), is_formula = absl::StartsWith(line, "    ");
    if (is_command) kept.push_back(line);
    if (told == Told::kClaims) continue;
    if (is_row) kept.push_back(without_measured(line));
    if (is_formula) kept.push_back(line);
  }
  return kept;
}

}  // namespace

namespace {

// Whether a time is as predicted, is up to the machine of the moment.
void forget_results(std::vector<std::string>& lines) {
  for (std::string& line : lines) {
    line = absl::StrReplaceAll(line, {{"| ✓ ", "| "}, {"| ✗ ", "| "}, {"| ? ", "| "}});
  }
}

}  // namespace

void expect_told_in_lecture_notes(const Report& report, Told told, Language language) {
  const std::string file =
      absl::StrCat("docs/lecture-notes", language == Language::kChinese ? ".zh" : "", ".md");
  const std::string notes = read_file(absl::StrCat(QKV_SOURCE_DIR "/", file), 1 << 22).value();
  std::vector<std::string> written = told_of(report.name, notes, told);
  std::vector<std::string> measured = told_of(report.name, lecture_notes({report}, language), told);
  if (report.measures_time) {
    forget_results(written);
    forget_results(measured);
  }
  const auto [first_written, first_measured] = std::ranges::mismatch(written, measured);
  const auto line = [](const auto& at, const auto& lines) {
    return at == lines.end() ? std::string("nothing") : *at;
  };
  EXPECT_FALSE(written.empty()) << file;
  EXPECT_TRUE(first_written == written.end() && first_measured == measured.end())
      << file << ": " << line(first_written, written)
      << "\nmeasured now: " << line(first_measured, measured) << "\nmade by ./qkv lab --all --lang "
      << name_of(language) << " --notes " << file;
}

}  // namespace qkv
