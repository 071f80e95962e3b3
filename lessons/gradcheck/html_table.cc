#include "lessons/gradcheck/html_table.h"

#include "absl/strings/str_cat.h"
#include "lessons/report/svg.h"

namespace qkv {

std::string html_of(Verdict verdict) {
  const char* kind = verdict == Verdict::kPass   ? "agrees"
                     : verdict == Verdict::kFail ? "disagrees verdict"
                                                 : "undecided verdict";
  return absl::StrCat("<span class=\"", kind, "\">", std::string(verdict_name(verdict)), "</span>");
}

std::string table_head(const std::string& caption, const std::vector<std::string>& columns,
                       const std::string& kind) {
  std::string html = absl::StrCat("<div class=\"wide\"><table",
                                  kind.empty() ? "" : absl::StrCat(" class=\"", kind, "\""),
                                  "><caption>", escaped(caption), "</caption>\n<thead><tr>");
  for (const std::string& column : columns) {
    absl::StrAppend(&html, "<th scope=\"col\">", escaped(column), "</th>");
  }
  return html + "</tr></thead>\n<tbody>\n";
}

std::string table_row(const std::string& head, const std::vector<std::string>& cells) {
  std::string html = absl::StrCat("<tr><th scope=\"row\">", head, "</th>");
  for (const std::string& cell : cells) absl::StrAppend(&html, "<td>", cell, "</td>");
  return html + "</tr>\n";
}

}  // namespace qkv
