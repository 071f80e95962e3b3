#include "tests/lessons/labs/lecture_notes_check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

std::vector<std::string> lines_of(const std::string& text) { return absl::StrSplit(text, '\n'); }

std::string without_measured(const std::string& row) {
  const std::string cells = row.substr(0, row.rfind(" |"));
  return cells.substr(0, cells.rfind(" | "));
}

// The lines that Markdown has under the headings of a lab, as far as they do not hang on numbers.
std::vector<std::string> told_of(const std::string& lab, const std::string& markdown, Told told) {
  const std::string end_of_heading = absl::StrCat(": `./qkv lab ", lab, "`");
  std::vector<std::string> kept;
  bool is_inside = false;
  for (const std::string& line : lines_of(markdown)) {
    if (absl::StartsWith(line, "#")) is_inside = absl::EndsWith(line, end_of_heading);
    const bool is_claim = absl::StartsWith(line, "#") || absl::StartsWith(line, ">");
    if (!is_inside || (told == Told::kClaims && !is_claim)) continue;
    kept.push_back(absl::StartsWith(line, "| ") ? without_measured(line) : line);
  }
  return kept;
}

}  // namespace

void expect_told_in_lecture_notes(const Report& report, Told told) {
  static const std::string kNotes =
      read_file(QKV_SOURCE_DIR "/docs/lecture-notes.md", 1 << 22).value();
  const std::vector<std::string> written = told_of(report.name, kNotes, told);
  const std::vector<std::string> measured =
      told_of(report.name, lecture_notes({report}, Language::kEnglish), told);
  const auto [first_written, first_measured] = std::ranges::mismatch(written, measured);
  const auto line = [](const auto& at, const auto& lines) {
    return at == lines.end() ? std::string("nothing") : *at;
  };
  EXPECT_TRUE(first_written == written.end() && first_measured == measured.end())
      << "docs/lecture-notes.md: " << line(first_written, written)
      << "\nmeasured now: " << line(first_measured, measured)
      << "\nmade by ./qkv lab --all --notes docs/lecture-notes.md";
}

}  // namespace qkv
