#include "apps/check/mutation_section.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/report/html/html.h"

namespace qkv {
namespace {

std::string cell_of(const MutationCount& count) {
  if (count.planted == 0) return "–";
  std::string text = absl::StrCat(count.killed, "/", count.planted);
  if (count.killed == count.planted) return text;
  return absl::StrCat("<span class=\"disagrees verdict\">", text, " missed</span>");
}

std::string matrix_of(const MutationReport& report) {
  std::vector<std::string> columns = {"backward of"};
  for (int kind = 0; kind < kMistakeKinds; ++kind) {
    columns.emplace_back(mistake_name(static_cast<MistakeKind>(kind)));
  }
  columns.emplace_back("all");
  std::string html = table_head("Mistakes caught / planted, by their kind", columns);
  for (const MutationRow& row : report.rows()) {
    std::vector<std::string> cells;
    for (const MutationCount& count : row.counts) cells.push_back(cell_of(count));
    html += table_row(escaped(row.function), cells);
  }
  return html + kTableEnd;
}

std::string equivalents_of(const MutationReport& report) {
  std::string rows;
  for (const MutationResult& r : report.results) {
    if (r.killed || r.equivalent_because.empty()) continue;
    rows += table_row(escaped(r.mutant.to_text()), {escaped(r.equivalent_because)});
  }
  if (rows.empty()) return "";
  return table_head("Mistakes that change nothing, and why", {"mistake", "because"}, "words") +
         rows + kTableEnd;
}

// For each function, a part that opens: its mistakes, and what caught them.
std::string catches_of(const MutationReport& report) {
  std::string html, rows;
  int64_t caught = 0;
  for (size_t i = 0; i < report.results.size(); ++i) {
    const MutationResult& r = report.results[i];
    if (r.killed) {
      rows += table_row(escaped(r.mutant.to_text()), {std::string(mistake_name(r.mutant.kind)),
                                                      escaped(r.example), escaped(r.how)});
      ++caught;
    }
    const std::string& name = r.mutant.function;
    const bool is_last = i + 1 == report.results.size();
    if ((!is_last && report.results[i + 1].mutant.function == name) || rows.empty()) continue;
    absl::StrAppend(&html, "<details><summary>", escaped(name), ": ", caught, " caught</summary>\n",
                    table_head("How each mistake was caught",
                               {"mistake", "kind", "example", "what its check says"}, "words"),
                    rows, kTableEnd, "</details>\n");
    rows.clear();
    caught = 0;
  }
  return html;
}

}  // namespace

std::string survivors_of(const MutationReport& report) {
  std::string items;
  for (const Mutant& mutant : report.survivors()) items += element("li", mutant.to_text());
  if (items.empty()) return "";
  return absl::StrCat(element("h3", "Planted mistakes that nothing caught"), "<ul>\n", items,
                      "</ul>\n");
}

std::string mutation_section(const MutationReport& report) {
  const auto planted = static_cast<int64_t>(report.results.size());
  std::string score = absl::StrFormat(
      "Of %d planted mistakes, %d change nothing; of the other %d, %d were caught: a mutation "
      "score "
      "of %.2f %%.",
      planted, report.equivalent(), planted - report.equivalent(), report.killed(), report.score());
  if (report.not_runnable > 0) {
    absl::StrAppend(&score, " ", report.not_runnable, " more could not run.");
  }
  return absl::StrCat(
      element("p",
              "Who checks the checker? Mistakes are planted in the backward formulas, one at a "
              "time, and an example of the function must catch each."),
      element("p", score), matrix_of(report), survivors_of(report), equivalents_of(report),
      catches_of(report));
}

}  // namespace qkv
