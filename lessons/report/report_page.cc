#include "absl/strings/str_cat.h"
#include "lessons/report/notes.h"
#include "lessons/report/page_frame.h"
#include "lessons/report/report.h"
#include "lessons/report/svg.h"

namespace qkv {
namespace {

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
    absl::StrAppend(&html, "<blockquote><p lang=\"zh-CN\">", escaped(claim.chinese), "</p>\n<p>",
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
