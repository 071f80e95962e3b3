#include "apps/check/gradcheck_page.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/report/figure_html.h"
#include "apps/report/gradcheck/gradcheck_documents.h"
#include "apps/report/html/html.h"
#include "apps/report/page_files.h"
#include "framework/core/utf8.h"

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

// A list of those that nothing caught; "" where there is none.
std::string survivors_of(const MutationReport& report) {
  std::string items;
  for (const Mutant& mutant : report.survivors()) items += element("li", mutant.to_text());
  if (items.empty()) return "";
  return absl::StrCat(element("h3", "Planted mistakes that nothing caught"), "<ul>\n", items,
                      "</ul>\n");
}

// Functions by kinds of mistakes, caught/planted; the equivalents with their reasons; how each was
// caught.
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

constexpr int kMostShownFirst = 20;  // examples that did not pass, above all else

// Beside that of every page: wide tables, and lines that dashes tell apart, not colours alone.
constexpr char kStyle[] = R"(body { max-width: 84rem; }
p, ul { max-width: 50rem; }
.wide { max-width: 100%; }
caption { text-align: left; color: var(--soft); padding-bottom: 0.2rem; }
thead th { vertical-align: bottom; }
tbody th { color: var(--ink); white-space: nowrap; }
tr > :first-child { position: sticky; left: 0; background: var(--paper); }
td { min-width: 3rem; white-space: nowrap; }
td:last-child { white-space: normal; }
.words th { white-space: normal; min-width: 9rem; }
.words td:last-child { min-width: 20rem; }
h3 { margin: 1.2rem 0 0; font-size: 1em; }
pre { white-space: pre-wrap; font-size: 0.9em; }
details { border-top: 1px solid var(--line); }
details > :not(summary) { margin-left: 1rem; }
details > div { scroll-margin-top: 3rem; }
summary { padding: 0.3rem 0; cursor: pointer; }
summary b { font-weight: 600; }
.first { border-left: 3px solid var(--wrong); padding-left: 1rem; }
figure { max-width: 46rem; }
svg.lines .series:nth-of-type(2) :is(polyline, path) { stroke-dasharray: 7 3; }
svg.lines .series:nth-of-type(3) :is(polyline, path) { stroke-dasharray: 2 3; }
@media (max-width: 40rem) {
  tbody th { white-space: normal; overflow-wrap: anywhere; min-width: 6rem; max-width: 9rem; }
}
@media print {
  details, figure, tr { break-inside: avoid; }
  details[open] { break-inside: auto; }
  .wide { overflow: visible; }
  table { font-size: 0.7rem; }
  tbody th, td, td:last-child, .words td:last-child { white-space: normal; min-width: 0; }
}
)";

// Where the details of a function stand. No name: it may hold anything.
std::string id_of(size_t index) { return absl::StrCat("function-", index); }

std::string heading_of(const CheckedExample& example) {
  return absl::StrCat(printable(example.name), ", seed ", example.seed);
}

// What each method says of each input, the elements that are most wrong, and all notes.
std::string html_of(const CheckedExample& example, const std::string& heading) {
  return absl::StrCat(element("h3", heading), html_of(example.report));
}

// The V curve of a function, or why there is none.
std::string v_curve_of(const StepCurve& curve) {
  if (curve.points.empty()) return element("p", "No V curve: " + curve.why_none, "soft");
  Series one_sided{.name = "one-sided", .has_marks = false};
  Series central{.name = "central", .has_marks = false};
  Series extrapolated{.name = "extrapolated", .has_marks = false};
  bool has_error = false;
  for (const SweepPoint& p : curve.points) {
    for (Series* series : {&one_sided, &central, &extrapolated}) series->x.push_back(p.step);
    one_sided.y.push_back(p.forward_error);
    central.y.push_back(p.central_error);
    extrapolated.y.push_back(p.extrapolated_error);
    has_error |= p.forward_error > 0 || p.central_error > 0 || p.extrapolated_error > 0;
  }
  if (!has_error)
    return element("p", "No V curve: the differences are exact at every step", "soft");
  return figure_html(
      LineChart{.title = absl::StrCat("Error of the numeric derivative against its step: ",
                                      curve.example),
                .x_label = "step h",
                .y_label = "relative error",
                .log_x = true,
                .log_y = true,
                .series = {one_sided, central, extrapolated}},
      Language::kEnglish);
}

std::string verdict_of(const GradcheckFindings& findings) {
  const GradcheckRow all = findings.total();
  const auto not_passed = std::ranges::count_if(
      findings.functions,
      [](const CheckedFunction& function) { return function.row.verdict != Verdict::kPass; });
  const size_t count = findings.functions.size();
  const std::string passed =
      not_passed == 0 ? "PASS: every derivative agrees"
                      : absl::StrFormat("Not passed: %d of %d functions", not_passed, count);
  const std::string seeds = findings.seeds == 1 ? absl::StrCat("seed ", findings.seed)
                                                : absl::StrCat("seeds ", findings.seed, " to ",
                                                               findings.seed + findings.seeds - 1);
  std::string html = element(
      "p",
      absl::StrFormat(
          "%s. %d derivatives of %d %s of %d %s (ops, layers, models, "
          "steps), order %d, %s, in %.1f s.",
          passed, all.derivatives, all.examples, all.examples == 1 ? "example" : "examples", count,
          count == 1 ? "function" : "functions", findings.order, seeds, findings.seconds),
      not_passed == 0 ? "agrees verdict" : "disagrees verdict");
  if (!findings.mutations) return html;
  const MutationCount planted = findings.mutations->rows().back().counts.back();
  return html + element("p",
                        absl::StrFormat("Of %d planted mistakes that change a derivative, %d were "
                                        "caught.",
                                        planted.planted, planted.killed),
                        planted.killed == planted.planted ? "agrees verdict" : "disagrees verdict");
}

// The inputs that did not pass, if there are any: the Hessian's symmetry has none.
CheckedExample without_passed_inputs(CheckedExample example) {
  std::erase_if(example.report.inputs, [](const InputReport& input) { return input.passed(); });
  return example;
}

// What no reader may miss: all that did not pass, open.
std::string what_did_not_pass(const GradcheckFindings& findings) {
  std::string html;
  int count = 0;
  for (const CheckedFunction& function : findings.functions) {
    for (const CheckedExample& example : function.examples) {
      if (example.report.passed() || ++count > kMostShownFirst) continue;
      html += html_of(without_passed_inputs(example),
                      absl::StrCat(function.row.kind, " ", printable(function.row.name), ", ",
                                   heading_of(example)));
    }
  }
  if (count > kMostShownFirst) {
    html += element("p", absl::StrCat("And ", count - kMostShownFirst,
                                      " more examples that did not pass, below."));
  }
  if (findings.mutations) html += survivors_of(*findings.mutations);
  if (html.empty()) return "";
  return absl::StrCat("<section class=\"first\">\n", element("h2", "What did not pass"), html,
                      "</section>\n");
}

std::string how_to_read() {
  return absl::StrCat(
      "<section>\n", element("h2", "How to read this page"), kHowToReadReports,
      element("p",
              "The V curve: a large step is off by the terms that the formula leaves out, a small "
              "one by rounding. Where backward is wrong there is no V: the error stays."),
      "</section>\n");
}

std::string overview_of(const GradcheckFindings& findings) {
  std::string html = table_head("Every function that was checked",
                                {"name", "verdict", "kind", "examples", "derivatives", "agrees to",
                                 "told to", "digits in f64"});
  for (size_t i = 0; i < findings.functions.size(); ++i) {
    const GradcheckRow& row = findings.functions[i].row;
    html += table_row(
        absl::StrCat("<a href=\"#", id_of(i), "\">", escaped(printable(row.name)), "</a>"),
        {html_of(row.verdict), row.kind, absl::StrCat(row.examples), absl::StrCat(row.derivatives),
         size_text(row.disagreement), size_text(row.told_to), digits_text(row.digits)});
  }
  return absl::StrCat(
      "<section>\n", element("h2", "Overview"),
      element("p", "A name leads to the examples of its function and to its V curve."), html,
      kTableEnd, "</section>\n");
}

// A part that opens. A link to what is in it opens it, too.
std::string details_of(const CheckedFunction& function, const std::string& id) {
  const GradcheckRow& row = function.row;
  std::string html = absl::StrFormat(
      "<details><summary><b>%s</b>: %d derivatives of %d examples, agree to %s, "
      "%s</summary>\n<div id=\"%s\">\n",
      escaped(printable(row.name)), row.derivatives, row.examples, size_text(row.disagreement),
      html_of(row.verdict), id);
  html += v_curve_of(function.curve);
  for (const CheckedExample& example : function.examples) {
    html += html_of(example, heading_of(example));
  }
  return html + "</div>\n</details>\n";
}

std::string functions_of(const GradcheckFindings& findings) {
  std::string html;
  const std::vector<CheckedFunction>& functions = findings.functions;
  for (size_t i = 0; i < functions.size(); ++i) {
    const std::string& kind = functions[i].row.kind;
    if (i == 0 || functions[i - 1].row.kind != kind) {
      absl::StrAppend(&html, i == 0 ? "" : "</section>\n", "<section>\n",
                      element("h2", absl::StrCat("The ", kind, "s, one by one")));
    }
    html += details_of(functions[i], id_of(i));
  }
  return html.empty() ? "" : html + "</section>\n";
}

std::string mutations_of(const GradcheckFindings& findings) {
  return absl::StrCat(
      "<section>\n", element("h2", "Planted mistakes"),
      findings.mutations
          ? mutation_section(*findings.mutations)
          : element("p",
                    "No mistakes were planted in this run. ./qkv gradcheck --mutate --html "
                    "FILE plants them in the backward formulas, and shows here which were "
                    "caught, and how."),
      "</section>\n");
}

}  // namespace

std::string gradcheck_page(const GradcheckFindings& findings) {
  return page_of(
      {.title = "Gradient check",
       .style = absl::StrCat(kReportStyle, kStyle),
       .body = absl::StrCat(element("h1", "Gradient check"), verdict_of(findings),
                            what_did_not_pass(findings), how_to_read(), overview_of(findings),
                            functions_of(findings), mutations_of(findings))});
}

}  // namespace qkv
