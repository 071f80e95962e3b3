#include <algorithm>
#include <cctype>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lessons/report/notes.h"
#include "lessons/report/report.h"
#include "lessons/report/signs.h"

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
    std::string text = say(
        {"<!-- Made by ./qkv lab --all --notes FILE -->\n\n# The lecture notes, sentence by "
         "sentence\n\nWhat four lecture notes on self-attention "
         "say, what follows from it, and what was measured. Made by `./qkv lab --all --notes "
         "docs/lecture-notes.md`; the command beside a measurement shows its pictures too. A37 is "
         "line 37 of the note A; the four follow in their order.\n\n",
         "<!-- Made by ./qkv lab --all --lang zh --notes FILE -->\n\n# "
         "逐句检验讲义\n\n四篇自注意力讲义说了什么，由此推出什么，测得什么。由 `./qkv lab --all "
         "--lang zh --notes docs/lecture-notes.zh.md` 生成；测量旁的命令还会给出图。A37 指讲义 A "
         "的第 37 行；四篇讲义按原来的顺序。\n\n"});
    absl::StrAppend(&text, table_of_verdicts(), say({"\n## Set right\n\n", "\n## 更正\n\n"}),
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
  std::string say(const Text& text) const { return text.in(language_); }
  std::string escaped_in(const Text& text) const { return markdown_escaped(say(text)); }

  std::string table_of_verdicts() const {
    std::map<ClaimVerdict, int> counts;
    for (const JudgedSentence& each : sentences_) ++counts[each.verdict()];
    std::string table = say({"| verdict | sentences |\n", "| 结论 | 句数 |\n"}) + "| --- | --- |\n";
    for (const Named<ClaimVerdict>& verdict : kNames<ClaimVerdict>) {
      absl::StrAppend(&table, "| ", say(verdict_name(verdict.value)), " | ", counts[verdict.value],
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
    absl::StrAppend(&text, "\n**", capitalized(escaped_in(sentence.decided_in().verdict_text())),
                    say({".**\n", "。**\n"}));
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
      return absl::StrCat(command, say({": the numbers are under ", "：数值见 "}), first.place,
                          say({".\n", "。\n"}));
    }
    std::string text = command + "\n";
    if (!section.formula.empty()) {
      absl::StrAppend(&text, "\n    ",
                      absl::StrReplaceAll(say(section.formula), {{"\n", "\n    "}}), "\n");
    }
    if (!section.prediction.empty()) {
      absl::StrAppend(&text, "\n", escaped_in(section.prediction), "\n");
    }
    if (!section.findings.empty()) {
      text += say({"\n| | predicted | measured |\n", "\n| | 预测 | 实测 |\n"}) +
              "| --- | --- | --- |\n";
    }
    for (const Finding& finding : section.findings) text += row_of(finding);
    absl::StrAppend(&text, "\n", capitalized(escaped_in(section.verdict_text())), say({".", "。"}));
    if (!section.not_testable.empty()) {
      absl::StrAppend(&text, say({" ", ""}), escaped_in(section.not_testable));
    }
    if (!section.set_right().empty()) {
      absl::StrAppend(&text, say({" ", ""}), escaped_in(section.set_right()));
    }
    text += "\n";
    for (const Source& source : section.sources) {
      absl::StrAppend(&text, "\n[", markdown_escaped(source.cited), "](", source.url, ")\n");
    }
    return text;
  }

  std::string row_of(const Finding& finding) const {
    return absl::StrCat("| ", sign_of(finding.result), " ",
                        escaped_in(finding.what + role_of(finding)), " | ",
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
