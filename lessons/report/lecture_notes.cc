#include <algorithm>
#include <cctype>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lessons/report/notes.h"
#include "lessons/report/report.h"

namespace qkv {
namespace {

// What a section says of one note.
struct Entry {
  const Report* report = nullptr;
  const Section* section = nullptr;
  std::vector<Claim> claims = {};
};

int line_of(const Claim& claim) { return std::atoi(claim.place.c_str() + 1); }

// In the order of the note's lines.
std::vector<Entry> entries_of(const std::vector<Report>& reports, char note) {
  std::vector<Entry> entries;
  for (const Report& report : reports) {
    for (const Section& section : report.sections) {
      Entry entry = {.report = &report, .section = &section};
      std::ranges::copy_if(section.claims, std::back_inserter(entry.claims),
                           [note](const Claim& claim) { return claim.place[0] == note; });
      std::ranges::stable_sort(entry.claims, {}, line_of);
      if (!entry.claims.empty()) entries.push_back(std::move(entry));
    }
  }
  std::ranges::stable_sort(entries, {}, [](const Entry& e) { return line_of(e.claims[0]); });
  return entries;
}

// Text as it is, where Markdown would read signs in it.
std::string markdown_escaped(const std::string& text) {
  std::string markdown;
  for (const char c : text) {
    if (std::string("\\`*_|<$").find(c) != std::string::npos) markdown += '\\';
    markdown += c == '\n' ? ' ' : c;
  }
  return markdown;
}

std::string capitalized(std::string text) {
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string judged(const Section& section) {
  std::string text =
      absl::StrCat("**", capitalized(markdown_escaped(section.verdict_text())), ".**");
  if (!section.correction.empty())
    absl::StrAppend(&text, " ", markdown_escaped(section.set_right()));
  return text;
}

std::string row_of(const Finding& finding) {
  const char* const sign = finding.agreement == FindingResult::kAgrees      ? "✓"
                           : finding.agreement == FindingResult::kDisagrees ? "✗"
                                                                            : "?";
  return absl::StrCat("| ", sign, " ", markdown_escaped(finding.what),
                      finding.in_condition ? "" : " (beyond the condition)", " | ",
                      markdown_escaped(finding.predicted), " | ",
                      markdown_escaped(finding.measured), " |\n");
}

std::string text_of(const Claim& claim) {
  return absl::StrCat("> ", claim.place, "　", markdown_escaped(claim.chinese), "\n>\n> ",
                      markdown_escaped(claim.english), "\n");
}

// Where the numbers of a section stand: the first of its places.
const Claim& first_of(const Section& section) {
  return *std::ranges::min_element(section.claims, {}, [](const Claim& claim) {
    return std::pair(claim.place[0], line_of(claim));
  });
}

std::string text_of(const Entry& entry) {
  const Section& section = *entry.section;
  std::string text =
      absl::StrCat("### ", entry.claims[0].place, ": `./qkv lab ", entry.report->name, "`\n");
  for (const Claim& claim : entry.claims) absl::StrAppend(&text, "\n", text_of(claim));
  const Claim& first = first_of(section);
  if (entry.claims[0].place != first.place) {
    return absl::StrCat(text, "\n", judged(section), " The numbers are under ", first.place, ".\n");
  }
  if (!section.formula.empty()) {
    absl::StrAppend(&text, "\n    ", absl::StrReplaceAll(section.formula, {{"\n", "\n    "}}),
                    "\n");
  }
  absl::StrAppend(&text, "\n", markdown_escaped(section.prediction),
                  "\n\n| | predicted | measured |\n", "| --- | --- | --- |\n");
  for (const Finding& finding : section.findings) text += row_of(finding);
  return absl::StrCat(text, "\n", judged(section), "\n");
}

std::string table_of_verdicts(const std::vector<Report>& reports) {
  std::map<ClaimVerdict, int> counts;
  for (const Report& report : reports) {
    for (const Section& section : report.sections) ++counts[section.verdict()];
  }
  std::string table = "| verdict | groups of claims |\n| --- | --- |\n";
  for (const Named<ClaimVerdict>& verdict : kNames<ClaimVerdict>) {
    absl::StrAppend(&table, "| ", verdict.name, " | ", counts[verdict.value], " |\n");
  }
  return table;
}

std::string list_of_slips(const std::vector<Report>& reports) {
  std::string list;
  for (const Note& note : kLectureNotes) {
    for (const Entry& entry : entries_of(reports, note.letter)) {
      const Section& section = *entry.section;
      if (section.correction.empty() || entry.claims[0].place != first_of(section).place) continue;
      absl::StrAppend(&list, "- ", section.places(), ": ", markdown_escaped(section.correction),
                      " `./qkv lab ", entry.report->name, "`\n");
    }
  }
  return list;
}

}  // namespace

std::string lecture_notes(const std::vector<Report>& reports) {
  std::string text = absl::StrCat(
      "# The lecture notes, claim by claim\n\nWhat four lecture notes on self-attention say, what "
      "follows from it, and what was measured. Made by `./qkv lab --all --notes "
      "docs/lecture-notes.md`; the command of each heading shows its pictures too. A37 is line 37 "
      "of "
      "the note A; the four follow in their order.\n\n",
      table_of_verdicts(reports), "\n## Slips, set right\n\n", list_of_slips(reports));
  for (const Note& note : kLectureNotes) {
    const std::vector<Entry> entries = entries_of(reports, note.letter);
    if (entries.empty()) continue;
    absl::StrAppend(&text, "\n## ", std::string(1, note.letter), ": ", markdown_escaped(note.title),
                    "\n");
    for (const Entry& entry : entries) absl::StrAppend(&text, "\n", text_of(entry));
  }
  return text;
}

}  // namespace qkv
