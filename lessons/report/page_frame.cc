#include "lessons/report/page_frame.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "lessons/report/page_files.h"
#include "lessons/report/svg.h"

namespace qkv {
namespace {

std::string head_of(const std::string& attributes, const std::string& scripts,
                    const std::string& title) {
  return absl::StrCat(
      "<!doctype html>\n<html ", attributes,
      ">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'",
      scripts, "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
      element("title", title), "<style>\n", kReportStyle, "</style>\n");
}

constexpr const char* kButton =
    "<button type=\"button\" id=\"language\" hidden><span class=\"in-en\" "
    "lang=\"zh-CN\">中文</span>"
    "<span class=\"in-zh\" lang=\"en\">English</span></button>\n";

}  // namespace

std::string element(const std::string& tag, const std::string& text, const std::string& kind) {
  const std::string open = kind.empty() ? tag : absl::StrCat(tag, " class=\"", kind, "\"");
  return absl::StrCat("<", open, ">", escaped(text), "</", tag, ">\n");
}

std::string page_of(const std::string& title, const std::string& body, const std::string& style) {
  return absl::StrCat(head_of("lang=\"en\"", "", title),
                      style.empty() ? "" : absl::StrCat("<style>\n", style, "</style>\n"),
                      "</head>\n<body>\n", body, "</body>\n</html>\n");
}

std::string page_in_both(const Text& title, const std::string& body, Language first) {
  // The one script that the page's policy lets run.
  const std::string digest = absl::Base64Escape(absl::HexStringToBytes(kReportScriptDigest));
  const std::string attributes =
      absl::StrCat("lang=\"", first == Language::kEnglish ? "en" : "zh-CN", "\" data-en=\"",
                   escaped(title.en), "\" data-zh=\"", escaped(title.zh), "\"");
  return absl::StrCat(
      head_of(attributes, absl::StrCat("; script-src 'sha256-", digest, "'"), title.in(first)),
      "</head>\n<body>\n", kButton, "<main>\n", body, "</main>\n<script type=\"module\">",
      kReportScript, "</script>\n</body>\n</html>\n");
}

std::string in_both(const std::function<std::string(Language)>& part) {
  std::string english = part(Language::kEnglish);
  const std::string chinese = part(Language::kChinese);
  if (english == chinese) return english;
  return absl::StrCat("<div class=\"in-en\" lang=\"en\">\n", english,
                      "</div>\n<div class=\"in-zh\" lang=\"zh-CN\">\n", chinese, "</div>\n");
}

std::string in_both(const Text& text) {
  if (text.en == text.zh) return escaped(text.en);
  return absl::StrCat("<span class=\"in-en\" lang=\"en\">", escaped(text.en),
                      "</span><span class=\"in-zh\" lang=\"zh-CN\">", escaped(text.zh), "</span>");
}

}  // namespace qkv
