#include "absl/strings/str_cat.h"
#include "lessons/report/notes.h"
#include "lessons/report/report.h"
#include "lessons/report/svg.h"

namespace qkv {
namespace {

constexpr const char* kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
)";

constexpr const char* kStyle = R"(<style>
:root {
  color-scheme: light dark;
  --paper: #fbfaf8; --ink: #1d2126; --soft: #59616b; --line: #d9d6cf;
  --positive: #c2560a; --negative: #1f5fb4; --good: #186a3b; --wrong: #b3261e;
  --series-0: #1f5fb4; --series-1: #c2560a; --series-2: #186a3b; --series-3: #8a3fa8;
  --series-4: #8a6d1f; --series-5: #0d7c8a; --series-6: #b0416b; --series-7: #4b4f56;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15171a; --ink: #e8e6e1; --soft: #a9b0b8; --line: #363b41;
    --positive: #f08a3c; --negative: #6aa5f0; --good: #6fcf97; --wrong: #ff8a80;
    --series-0: #6aa5f0; --series-1: #f08a3c; --series-2: #6fcf97; --series-3: #cf9bff;
    --series-4: #cbb26a; --series-5: #5fd0e2; --series-6: #ea85aa; --series-7: #a9b0b8;
  }
}
body {
  margin: 0 auto; max-width: 46rem; padding: 1.5rem 1rem 4rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 "Inter", "Segoe UI", "Noto Sans", "Noto Sans CJK SC",
  "PingFang SC", "Microsoft YaHei", system-ui, sans-serif; font-variant-numeric: tabular-nums;
}
a { color: var(--series-0); }
section { border-top: 1px solid var(--line); margin-top: 2rem; padding-top: 0.5rem; }
blockquote { margin: 0.8rem 0; padding-left: 1rem; border-left: 3px solid var(--line); }
blockquote p { margin: 0.1rem 0; }
.place, .soft { color: var(--soft); font-size: 0.9em; }
.formula { margin: 0.8rem 1rem; font-family: "STIX Two Math", "Cambria Math", serif;
  font-size: 1.1em; white-space: pre-wrap; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.6rem 0; }
th, td { text-align: left; padding: 0.15rem 1rem 0.15rem 0; vertical-align: top; }
th { font-weight: 500; color: var(--soft); }
tbody tr { border-top: 1px solid var(--line); }
.agrees { color: var(--good); } .disagrees { color: var(--wrong); } .undecided { color: var(--soft); }
.verdict { font-weight: 600; }
figure { margin: 1rem 0; } figcaption { color: var(--soft); }
svg { height: auto; display: block; }
svg.lines { width: 100%; min-width: 600px; }
svg text { font-size: 11px; fill: var(--soft); }
svg .grid { stroke: var(--line); } svg .axis { stroke: var(--soft); fill: none; }
svg .series text { fill: var(--colour); } svg .series circle { fill: var(--colour); }
svg .series polyline, svg .series path { stroke: var(--colour); fill: none; stroke-width: 1.6; }
svg.map text { fill: var(--ink); }
</style>
)";

std::string element(const std::string& tag, const std::string& text, const std::string& kind = "") {
  const std::string open = kind.empty() ? tag : absl::StrCat(tag, " class=\"", kind, "\"");
  return absl::StrCat("<", open, ">", escaped(text), "</", tag, ">\n");
}

std::string page_of(const std::string& title, const std::string& body) {
  return absl::StrCat(kHead, element("title", title), kStyle, "</head>\n<body>\n", body,
                      "</body>\n</html>\n");
}

std::string row(const std::vector<std::string>& cells, const char* tag) {
  std::string html = "<tr>";
  for (const std::string& cell : cells) html += element(tag, cell);
  return html + "</tr>\n";
}

std::string html_of(const Table& table) {
  std::string html = absl::StrCat("<div class=\"wide\"><table><thead>", row(table.header, "th"),
                                  "</thead><tbody>\n");
  for (const auto& cells : table.rows) html += row(cells, "td");
  return html + "</tbody></table></div>\n";
}
// On a narrow screen they can be pushed to the side, and stay legible.
std::string in_box(const std::string& svg) {
  return absl::StrCat("<div class=\"wide\">\n", svg, "</div>\n");
}
std::string html_of(const LineChart& chart) { return in_box(svg_of(chart)); }
std::string html_of(const HeatMap& map) { return in_box(svg_of(map)); }

std::string figure_of(const Figure& figure) {
  return std::visit(
      [](const auto& each) {
        return absl::StrCat("<figure>\n", element("figcaption", each.title), html_of(each),
                            "</figure>\n");
      },
      figure);
}

std::string findings_of(const Section& section) {
  std::string html =
      "<div class=\"wide\"><table><thead><tr><th>what</th><th>predicted</th><th>measured</th>"
      "<th></th></tr></thead><tbody>\n";
  for (const Finding& finding : section.findings) {
    const std::string agreement = name_of(finding.agreement);
    const std::string what =
        absl::StrCat(finding.what, finding.in_condition ? "" : " (beyond the condition)");
    absl::StrAppend(&html, "<tr>", element("td", what), element("td", finding.predicted),
                    element("td", finding.measured), element("td", agreement, agreement),
                    "</tr>\n");
  }
  return html + "</tbody></table></div>\n";
}

std::string html_of(const Section& section) {
  std::string html = "<section>\n";
  for (const Claim& claim : section.claims) {
    absl::StrAppend(&html, "<blockquote><p lang=\"zh-CN\">", escaped(quote_of(claim)), "</p>\n<p>",
                    escaped(claim.english), " <span class=\"place\">", escaped(claim.place),
                    "</span></p></blockquote>\n");
  }
  if (!section.formula.empty()) html += element("p", section.formula, "formula");
  html += element("p", section.prediction);
  html += findings_of(section);
  for (const Figure& figure : section.figures) html += figure_of(figure);
  html += element("p", absl::StrCat("Verdict: ", section.verdict_text()), "verdict");
  if (!section.correction.empty()) html += element("p", section.set_right());
  return html + "</section>\n";
}

std::string command_of(const Report& report) {
  std::string command = absl::StrCat("./qkv lab ", report.name);
  if (!report.control.empty()) command += " --control";
  for (const auto& [name, value] : report.options) {
    absl::StrAppend(&command, " --", name, " ", value);
  }
  return command;
}

}  // namespace

std::string report_page(const Report& report, bool beside_index) {
  std::string body = beside_index ? "<p><a href=\"index.html\">All labs</a></p>\n" : "";
  absl::StrAppend(&body, element("h1", report.name), element("p", report.question));
  if (!report.control.empty()) {
    body += element("p", absl::StrCat("Control: ", report.control), "disagrees");
  }
  for (const Section& section : report.sections) body += html_of(section);
  body += element("p", legend_of({&report, 1}), "soft");
  if (report.measures_time) body += element("p", "Figures of time differ each run.", "soft");
  body += element("p", command_of(report), "soft");
  return page_of(report.name, body);
}

std::string index_page(const std::vector<Report>& reports) {
  std::string rows;
  for (const Report& report : reports) {
    const std::string link = absl::StrCat("<td><a href=\"", escaped(report.name), ".html\">",
                                          escaped(report.name), "</a></td>");
    for (const Section& section : report.sections) {
      absl::StrAppend(&rows, "<tr>", link, element("td", report.question),
                      element("td", section.places()), element("td", section.verdict_text()),
                      "</tr>\n");
    }
  }
  return page_of("Labs", absl::StrCat(element("h1", "Labs"), "<div class=\"wide\"><table><thead>",
                                      row({"lab", "question", "claims", "verdict"}, "th"),
                                      "</thead><tbody>\n", rows, "</tbody></table></div>\n",
                                      element("p", legend_of(reports), "soft")));
}

}  // namespace qkv
