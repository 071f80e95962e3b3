#include "absl/strings/str_cat.h"
#include "apps/report/report.h"
#include "apps/report/texts/texts.h"
#include "apps/report/writers/notes.h"
#include "apps/report/writers/page_frame.h"
#include "apps/report/writers/section_html.h"

namespace qkv {
namespace {

std::string command_of(const Report& report) {
  std::string command = absl::StrCat("./qkv lab ", report.name);
  if (report.is_control) command += " --control";
  for (const auto& [name, value] : report.options) {
    absl::StrAppend(&command, " --", name, " ", value);
  }
  return command;
}

}  // namespace

std::string links_to_other_pages(std::span<const char> notes) {
  std::string html = absl::StrCat("<nav class=\"top\"><a href=\"index.html\">",
                                  in_both(say("All labs")), "</a>\n");
  for (const char letter : notes) {
    absl::StrAppend(&html, "<a href=\"", file_of_note(letter), "\">", in_both(name_of_note(letter)),
                    "</a>\n");
  }
  return html + "</nav>\n";
}

std::string report_page(const Report& report, Language language, bool beside_index) {
  std::string body = beside_index ? links_to_other_pages(letters_of({&report, 1})) : "";
  absl::StrAppend(&body, element("h1", report.name), "<p>", in_both(report.question), "</p>\n");
  for (const Section& section : report.sections) {
    body += section_html(report, section, beside_index);
  }
  absl::StrAppend(&body, "<p class=\"soft\">", in_both(legend_of({&report, 1})), "</p>\n");
  if (report.measures_time) {
    absl::StrAppend(&body, "<p class=\"soft\">", in_both(times_differ()), "</p>\n");
  }
  body += element("p", command_of(report), "soft");
  return page_in_both(report.name, body, language);
}

}  // namespace qkv
