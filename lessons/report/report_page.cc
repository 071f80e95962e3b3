#include "absl/strings/str_cat.h"
#include "lessons/report/figure_html.h"
#include "lessons/report/notes.h"
#include "lessons/report/page_frame.h"
#include "lessons/report/report.h"
#include "lessons/report/signs.h"
#include "lessons/report/svg.h"

namespace qkv {
namespace {

std::string row(const std::vector<Text>& cells, const char* tag, Language language) {
  std::string html = "<tr>";
  for (const Text& cell : cells) html += element(tag, cell.in(language));
  return html + "</tr>\n";
}

std::string findings_of(const Section& section, Language language) {
  const std::vector<Text> header = {
      {"what", "内容"}, {"predicted", "预测"}, {"measured", "实测"}, ""};
  std::string html = absl::StrCat("<div class=\"wide\"><table><thead>", row(header, "th", language),
                                  "</thead><tbody>\n");
  for (const Finding& finding : section.findings) {
    const std::string kind = finding.result == FindingResult::kAgrees      ? "agrees"
                             : finding.result == FindingResult::kDisagrees ? "disagrees"
                                                                           : "undecided";
    absl::StrAppend(&html, "<tr>", element("td", (finding.what + role_of(finding)).in(language)),
                    element("td", finding.predicted.in(language)),
                    element("td", finding.measured.in(language)),
                    element("td", result_name(finding.result).in(language), kind), "</tr>\n");
  }
  return html + "</tbody></table></div>\n";
}

std::string html_of(const Section& section, Language language) {
  std::string html = absl::StrCat("<section id=\"", escaped(section.name), "\">\n");
  for (const Claim& claim : section.claims) {
    absl::StrAppend(&html, "<blockquote><p lang=\"zh-CN\">", escaped(claim.chinese), "</p>\n<p>",
                    language == Language::kEnglish ? escaped(claim.english) : "",
                    " <span class=\"place\">", escaped(claim.place), "</span></p></blockquote>\n");
  }
  if (!section.control.empty()) {
    html += element("p", (Text{"Control: ", "对照："} + section.control).in(language), "disagrees");
  }
  if (!section.formula.empty()) html += element("p", section.formula, "formula");
  if (!section.prediction.empty()) html += element("p", section.prediction.in(language));
  for (const Figure& figure : section.figures) html += figure_html(figure, language);
  const Text verdict = Text{"Verdict: ", "结论："} + section.verdict_text();
  html += element("p", verdict.in(language), "verdict");
  html += element("p", section.reason().in(language));
  if (!section.set_right().empty()) html += element("p", section.set_right().in(language));
  if (!section.findings.empty()) html += findings_of(section, language);
  if (!section.sources.empty()) {
    html += element("p", cited(section.sources).in(language), "soft");
  }
  return html + "</section>\n";
}

std::string command_of(const Report& report) {
  std::string command = absl::StrCat("./qkv lab ", report.name);
  if (report.is_control) command += " --control";
  for (const auto& [name, value] : report.options) {
    absl::StrAppend(&command, " --", name, " ", value);
  }
  return command;
}

}  // namespace

std::string report_page(const Report& report, Language language, bool beside_index) {
  std::string body;
  if (beside_index) {
    absl::StrAppend(&body, "<p><a href=\"index.html\">", Text{"All labs", "全部实验"}.in(language),
                    "</a></p>\n");
  }
  absl::StrAppend(&body, element("h1", report.name), element("p", report.question.in(language)));
  for (const Section& section : report.sections) body += html_of(section, language);
  body += element("p", legend_of({&report, 1}).in(language), "soft");
  if (report.measures_time) body += element("p", kTimesDiffer.in(language), "soft");
  body += element("p", command_of(report), "soft");
  return page_of(report.name, body);
}

std::string index_page(const std::vector<Report>& reports, Language language) {
  std::string rows;
  for (const Report& report : reports) {
    const std::string link = absl::StrCat("<td><a href=\"", escaped(report.name), ".html\">",
                                          escaped(report.name), "</a></td>");
    for (const Section& section : report.sections) {
      absl::StrAppend(&rows, "<tr>", link, element("td", report.question.in(language)),
                      element("td", section.places()),
                      element("td", section.verdict_text().in(language)), "</tr>\n");
    }
  }
  const std::vector<Text> header = {
      {"lab", "实验"}, {"question", "问题"}, {"claims", "句子"}, {"verdict", "结论"}};
  const std::string title = Text{"Labs", "实验"}.in(language);
  return page_of(title, absl::StrCat(element("h1", title), "<div class=\"wide\"><table><thead>",
                                     row(header, "th", language), "</thead><tbody>\n", rows,
                                     "</tbody></table></div>\n",
                                     element("p", legend_of(reports).in(language), "soft")));
}

}  // namespace qkv
