#include <algorithm>
#include <cctype>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "apps/report/notes.h"
#include "apps/report/report.h"
#include "apps/report/signs.h"
#include "apps/report/texts/texts.h"

namespace qkv {
namespace {

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

// The notes in one language.
class Notes {
 public:
  Notes(const std::vector<Report>& reports, Language language)
      : sentences_(sentences_of(reports)), language_(language) {}

  std::string text() const {
    std::string text = in(say("notes.head"));
    absl::StrAppend(&text, "\n", table_of_verdicts(), "\n## ", in(say("Set right")), "\n\n",
                    corrections());
    for (const Note& note : kLectureNotes) {
      std::string entries;
      for (const JudgedSentence& each : sentences_) {
        if (each.claim.place[0] == note.letter) absl::StrAppend(&entries, "\n", text_of(each));
      }
      if (entries.empty()) continue;
      absl::StrAppend(&text, "\n## ", std::string(1, note.letter), ": ",
                      markdown_escaped(note.title), "\n", entries);
    }
    return text;
  }

 private:
  std::string in(const Text& text) const { return text.in(language_); }
  std::string escaped_in(const Text& text) const { return markdown_escaped(in(text)); }

  std::string table_of_verdicts() const {
    std::map<ClaimVerdict, int> counts;
    for (const JudgedSentence& each : sentences_) ++counts[each.verdict()];
    std::string table = in(say("| verdict | sentences |")) + "\n| --- | --- |\n";
    for (const Named<ClaimVerdict>& verdict : kNames<ClaimVerdict>) {
      absl::StrAppend(&table, "| ", in(verdict_name(verdict.value)), " | ", counts[verdict.value],
                      " |\n");
    }
    return table;
  }

  std::string corrections() const {
    std::string list;
    std::vector<const Section*> listed;
    for (const JudgedSentence& each : sentences_) {
      for (const auto& [report, section] : each.judged_in) {
        if (section->correction().empty() || std::ranges::count(listed, section) > 0) continue;
        listed.push_back(section);
        absl::StrAppend(&list, "- ", section->places(), ": ", escaped_in(section->correction()),
                        " `./qkv lab ", report->name, "`\n");
      }
    }
    return list;
  }

  std::string text_of(const JudgedSentence& sentence) const {
    const Claim& claim = sentence.claim;
    std::string text =
        absl::StrCat("### ", claim.place, "\n\n> ", markdown_escaped(claim.chinese), "\n");
    if (language_ == Language::kEnglish) {
      absl::StrAppend(&text, ">\n> ", markdown_escaped(claim.english), "\n");
    }
    absl::StrAppend(&text, "\n**",
                    in(say("{0}.", capitalized(escaped_in(sentence.decided_in().verdict_text())))),
                    "**\n");
    for (const auto& [report, section] : sentence.judged_in) {
      absl::StrAppend(&text, "\n", text_of(sentence, *report, *section));
    }
    return text;
  }

  // The numbers of a section stand under the first of its sentences.
  std::string text_of(const JudgedSentence& sentence, const Report& report,
                      const Section& section) const {
    const auto order = [](const Claim& claim) { return order_of(claim); };
    const Claim& first = *std::ranges::min_element(section.claims, {}, order);
    const std::string command = absl::StrCat("`./qkv lab ", report.name, "`");
    if (sentence.claim.key != first.key) {
      return in(say("{0}: the numbers are under {1}.", command, first.place)) + "\n";
    }
    std::string text = command + "\n";
    if (!section.formula.empty()) {
      absl::StrAppend(&text, "\n    ", absl::StrReplaceAll(in(section.formula), {{"\n", "\n    "}}),
                      "\n");
    }
    if (!section.prediction.empty()) {
      absl::StrAppend(&text, "\n", escaped_in(section.prediction), "\n");
    }
    if (!section.findings.empty()) {
      text += "\n" + in(say("| | predicted | measured |")) + "\n| --- | --- | --- |\n";
    }
    for (const Finding& finding : section.findings) text += row_of(finding);
    Text judged = say("{0}.", capitalized(escaped_in(section.verdict_text())));
    for (const Text& more : {section.not_testable, section.set_right()}) {
      if (!more.empty()) judged = say("{0} {1}", judged, escaped_in(more));
    }
    absl::StrAppend(&text, "\n", in(judged), "\n");
    for (const Source& source : section.sources) {
      absl::StrAppend(&text, "\n[", markdown_escaped(source.cited), "](", source.url, ")\n");
    }
    return text;
  }

  std::string row_of(const Finding& finding) const {
    return absl::StrCat("| ", sign_of(finding.result), " ", escaped_in(with_role(finding)), " | ",
                        escaped_in(finding.predicted), " | ", escaped_in(finding.measured), " |\n");
  }

  std::vector<JudgedSentence> sentences_;
  Language language_;
};

}  // namespace

std::string lecture_notes(const std::vector<Report>& reports, Language language) {
  return Notes(reports, language).text();
}

}  // namespace qkv
