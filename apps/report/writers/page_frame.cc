#include "apps/report/writers/page_frame.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "apps/report/texts/texts.h"
#include "apps/report/writers/page_files.h"

namespace qkv {
namespace {

constexpr const char* kButton =
    "<button type=\"button\" id=\"language\" hidden><span class=\"in-en\" "
    "lang=\"zh-CN\">中文</span>"
    "<span class=\"in-zh\" lang=\"en\">English</span></button>\n";

}  // namespace

std::string page_in_both(const Text& title, const std::string& body, Language first) {
  // The one script that the page's policy lets run.
  const std::string digest = absl::Base64Escape(absl::HexStringToBytes(kReportScriptDigest));
  const std::string attributes =
      absl::StrCat("lang=\"", first == Language::kEnglish ? "en" : "zh-CN", "\" data-en=\"",
                   escaped(title.en), "\" data-zh=\"", escaped(title.zh), "\"");
  return page_of(
      {.title = title.in(first),
       .style = kReportStyle,
       .body = absl::StrCat(kButton, "<main>\n", body, "</main>\n", texts_element("report/sliders"),
                            "\n<script type=\"module\">", kReportScript, "</script>\n"),
       .attributes = attributes,
       .script_policy = absl::StrCat("'sha256-", digest, "'")});
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
