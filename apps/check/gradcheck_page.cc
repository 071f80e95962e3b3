#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/check/findings.h"
#include "apps/report/gradcheck/gradcheck_documents.h"
#include "apps/report/html/html.h"
#include "apps/report/writers/figure_html.h"
#include "apps/report/writers/page_files.h"
#include "framework/core/text/utf8.h"

namespace qkv {
namespace {

// For each function, a part that opens: its mistakes, and what caught them.
std::string catches_of(const MutationReport& report) {
  std::string html;
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < report.results.size(); ++i) {
    const MutationResult& r = report.results[i];
    if (r.killed) {
      rows.push_back({escaped(r.mutant.to_text()), name_of(r.mutant.kind), escaped(r.example),
                      escaped(r.how)});
    }
    const std::string& name = r.mutant.function;
    const bool is_last = i + 1 == report.results.size();
    if ((!is_last && report.results[i + 1].mutant.function == name) || rows.empty()) continue;
    absl::StrAppend(
        &html, "<details><summary>", escaped(name), ": ", rows.size(), " caught</summary>\n",
        table_of({"mistake", "kind", "example", "what its check says"}, rows), "</details>\n");
    rows.clear();
  }
  return html;
}

constexpr int kMostShownFirst = 20;  // examples that did not pass, above all else

// Beside that of every page: wide tables, and lines that dashes tell apart, not colours alone.
constexpr char kStyle[] = R"(body { max-width: 84rem; }
p, ul { max-width: 50rem; }
.wide { max-width: 100%; }
thead th { vertical-align: bottom; }
tr > :first-child { position: sticky; left: 0; background: var(--paper); }
td { min-width: 3rem; white-space: nowrap; }
details td { white-space: normal; min-width: 6rem; }
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
  td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 6rem; max-width: 9rem; }
}
@media print {
  details, figure, tr { break-inside: avoid; }
  details[open] { break-inside: auto; }
  .wide { overflow: visible; }
  table { font-size: 0.7rem; }
  td, details td { white-space: normal; min-width: 0; }
}
)";

// Where the details of a function stand. No name: it may hold anything.
std::string id_of(size_t index) { return absl::StrCat("function-", index); }

std::string heading_of(const CheckedExample& example) {
  return absl::StrCat(printable(example.name), ", seed ", example.seed);
}

std::string html_of(const CheckedExample& example, const std::string& heading) {
  return element("h3", heading) + element("pre", example.report.to_text());
}

// The V curve of a function, or why there is none.
std::string v_curve_of(const StepCurve& curve) {
  if (curve.points.empty()) return element("p", "No V curve: " + curve.why_none, "soft");
  const LineChart chart = sweep_chart(curve.points, curve.example);
  const auto has_error = [](const Series& series) { return std::ranges::max(series.y) > 0; };
  if (std::ranges::none_of(chart.series, has_error))
    return element("p", "No V curve: the differences are exact at every step", "soft");
  return figure_html(chart, Language::kEnglish);
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

// The part that no reader may miss: all that did not pass, open.
std::string what_did_not_pass(const GradcheckFindings& findings) {
  std::string html;
  int count = 0;
  for (const CheckedFunction& function : findings.functions) {
    for (const CheckedExample& example : function.examples) {
      if (example.report.passed() || ++count > kMostShownFirst) continue;
      html += html_of(example, absl::StrCat(function.row.kind, " ", printable(function.row.name),
                                            ", ", heading_of(example)));
    }
  }
  if (count > kMostShownFirst) {
    html += element("p", absl::StrCat("And ", count - kMostShownFirst,
                                      " more examples that did not pass, below."));
  }
  if (findings.mutations && !findings.mutations->survivors().empty()) {
    html += element("h3", "Planted mistakes that nothing caught") + "<ul>\n";
    for (const Mutant& mutant : findings.mutations->survivors()) {
      html += element("li", mutant.to_text());
    }
    html += "</ul>\n";
  }
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
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < findings.functions.size(); ++i) {
    const GradcheckRow& row = findings.functions[i].row;
    rows.push_back(
        {absl::StrCat("<a href=\"#", id_of(i), "\">", escaped(printable(row.name)), "</a>"),
         html_of(row.verdict), row.kind, absl::StrCat(row.examples), absl::StrCat(row.derivatives),
         size_text(row.disagreement), size_text(row.resolved_to), digits_text(row.digits)});
  }
  return absl::StrCat(
      "<section>\n", element("h2", "Overview"),
      element("p", "A name leads to the examples of its function and to its V curve."),
      table_of({"name", "verdict", "kind", "examples", "derivatives", "agrees to", "resolved to",
                "digits in f64"},
               rows),
      "</section>\n");
}

// A part that opens. A link to its content opens it, too.
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

// The text of the report, and how each mistake was caught.
std::string mutations_of(const GradcheckFindings& findings) {
  const std::string shown =
      findings.mutations
          ? element("p",
                    "Who checks the checker? Mistakes are planted in the backward formulas, one at "
                    "a time, and an example of the function must catch each.") +
                element("pre", findings.mutations->to_text()) + catches_of(*findings.mutations)
          : element("p",
                    "No mistakes were planted in this run. ./qkv gradcheck --mutate --out "
                    "FILE plants them in the backward formulas, and shows here which were "
                    "caught, and how.");
  return absl::StrCat("<section>\n", element("h2", "Planted mistakes"), shown, "</section>\n");
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
