#include "apps/report/html/html.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace qkv {

std::string escaped(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string element(const std::string& tag, const std::string& text, const std::string& kind) {
  const std::string open = kind.empty() ? tag : absl::StrCat(tag, " class=\"", kind, "\"");
  return absl::StrCat("<", open, ">", escaped(text), "</", tag, ">\n");
}

std::string link_to(const std::string& address, const std::string& text) {
  return absl::StrCat("<a href=\"", escaped(address), "\">", escaped(text), "</a>");
}

std::string table_of(const std::vector<std::string>& columns,
                     const std::vector<std::vector<std::string>>& rows) {
  std::string html = "<div class=\"wide\">\n<table><thead><tr>";
  for (const std::string& column : columns) {
    absl::StrAppend(&html, "<th scope=\"col\">", column, "</th>");
  }
  html += "</tr></thead><tbody>\n";
  for (const std::vector<std::string>& row : rows) {
    html += "<tr>";
    for (const std::string& cell : row) absl::StrAppend(&html, "<td>", cell, "</td>");
    html += "</tr>\n";
  }
  return html + "</tbody></table>\n</div>\n";
}

std::string page_of(const HtmlPage& page) {
  return absl::StrCat(
      "<!doctype html>\n<html ", page.attributes,
      ">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'",
      page.script_policy.empty() ? "" : absl::StrCat("; script-src ", page.script_policy),
      "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
      element("title", page.title), "<style>\n", page.style, "</style>\n</head>\n<body>\n",
      page.body, "</body>\n</html>\n");
}

}  // namespace qkv
