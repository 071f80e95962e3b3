#include "apps/report/writers/page_frame.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "apps/report/texts/texts.h"
#include "apps/report/writers/figure_html.h"
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

std::string titled_html(const Text& heading, const std::string& html) {
  return absl::StrCat("<section>\n<h2>", in_both(heading), "</h2>\n", html, "</section>\n");
}

std::string paragraph_html(const Text& text, const std::string& kind) {
  return absl::StrCat(kind.empty() ? "<p>" : absl::StrCat("<p class=\"", kind, "\">"),
                      in_both(text), "</p>\n");
}

std::string folded_html(const Text& title, const std::string& html) {
  return absl::StrCat("<details>\n<summary>", in_both(title), "</summary>\n", html, "</details>\n");
}

std::string figures_html(const std::vector<Figure>& figures) {
  std::string html = "<div class=\"figures\">\n";
  for (const Figure& figure : figures) {
    html += in_both([&](Language language) { return figure_html(figure, language); });
  }
  return html + "</div>\n";
}

}  // namespace qkv
