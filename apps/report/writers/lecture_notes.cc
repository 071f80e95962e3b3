#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/report/report.h"
#include "apps/report/texts/texts.h"
#include "apps/report/writers/notes.h"
#include "framework/core/each_of.h"

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

std::string row_of(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) absl::StrAppend(&row, " ", cell, " |");
  return row + "\n";
}

std::string table_of_verdicts(const std::vector<JudgedSentence>& sentences, Language language) {
  std::map<ClaimVerdict, int> counts;
  for (const JudgedSentence& each : sentences) ++counts[each.verdict()];
  std::vector<std::string> names, lines, numbers;
  for (const auto& [verdict, count] : counts) {
    names.push_back(verdict_name(verdict).in(language));
    lines.emplace_back("---");
    numbers.push_back(absl::StrCat(count));
  }
  return row_of(names) + row_of(lines) + row_of(numbers);
}

std::string sentences_in(const Section& section, Language language) {
  std::string sentences;
  for (const Claim& claim : section.claims) {
    absl::StrAppend(&sentences, sentences.empty() ? "" : "<br>", "**", claim.place, "** ",
                    markdown_escaped(claim.text().in(language)));
  }
  return sentences;
}

// The condition, and the correction; where nothing is to be set right, the finding that decides. Of
// what is not measured always the reason.
Text why(const Section& section) {
  const Text right = section.set_right();
  if (!section.is_measured() && !right.empty()) return say("{0} {1}", section.reason(), right);
  Text reason = right.empty() ? section.reason() : right;
  const Text condition = section.condition();
  if (section.verdict() != ClaimVerdict::kHoldsIf || condition.empty()) return reason;
  return say("{0}. {1}", say("verdict.if", condition), reason);
}

std::string table_of_definitions(const std::vector<Definition>& definitions, Language language) {
  if (definitions.empty()) return "";
  const Text what =
      say("Identities and conventions: there is nothing to measure. The code computes them.");
  std::string text =
      absl::StrCat("\n## ", say("Definitions").in(language), "\n\n", what.in(language), "\n\n");
  text += row_of({say("sentences").in(language), say("formula").in(language),
                  say("code").in(language), say("remark").in(language)});
  text += row_of({"---", "---", "---", "---"});
  for (const Definition& each : definitions) {
    text += row_of({absl::StrCat("**", each.places, "**"), markdown_escaped(each.formula),
                    absl::StrCat("[", markdown_escaped(each.name), "](../", each.file, ")"),
                    markdown_escaped(each.remark.in(language))});
  }
  return text;
}

}  // namespace

std::string lecture_notes(const std::vector<Report>& reports,
                          const std::vector<Definition>& definitions, Language language) {
  std::vector<std::pair<std::tuple<char, int, int>, std::string>> rows;
  for (const Report& report : reports) {
    for (const Section& section : report.sections) {
      const auto orders = each_of(section.claims, order_of);
      rows.emplace_back(
          *std::ranges::min_element(orders),
          row_of({sentences_in(section, language), absl::StrCat("`", report.name, "`"),
                  verdict_name(section.verdict()).in(language),
                  markdown_escaped(why(section).in(language))}));
    }
  }
  std::ranges::stable_sort(rows, {}, [](const auto& row) { return row.first; });
  const std::string counts = table_of_verdicts(sentences_of(reports), language);
  std::string text =
      say("notes.head", counts, how_to_read(), markdown_escaped(legend_of(reports).in(language)))
          .in(language);
  for (const auto& row : rows) text += row.second;
  return text + table_of_definitions(definitions, language);
}

}  // namespace qkv
