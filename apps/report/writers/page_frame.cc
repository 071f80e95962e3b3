#include "apps/report/writers/page_frame.h"

#include "absl/strings/escaping.h"
#include "apps/report/svg/svg_parts.h"
#include "apps/report/writers/page_files.h"
#include "framework/core/each_of.h"

namespace qkv {
namespace {

constexpr const char* kButton =
    "<button type=\"button\" id=\"language\" hidden><span class=\"in-en\" "
    "lang=\"zh-CN\">中文</span>"
    "<span class=\"in-zh\" lang=\"en\">English</span></button>\n";

// Content of fixed width: where the page is narrower, it scrolls in a box of its own.
std::string in_box(const std::string& html) {
  return absl::StrCat("<div class=\"wide\">\n", html, "</div>\n");
}

// `more`: further attributes, after a space.
std::string legend_item(const Text& name, size_t colour, Language language, const char* more = "") {
  if (name.empty()) return "";
  return absl::StrCat("<li style=\"--colour: ", colour_of_series(colour), "\"", more, ">",
                      escaped(name.in(language)), "</li>\n");
}

std::string drawn(const LineChart& chart, Language language) {
  std::string html = "<ul class=\"legend of-lines\">\n";
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    html += legend_item(series.name, series.colour.value_or(i), language,
                        series.is_dashed ? " class=\"dashed\"" : "");
  }
  return absl::StrCat(html, "</ul>\n", in_box(svg_of(chart, language)));
}

std::string drawn(const HeatMaps& maps, Language language) {
  const MapScale scale = scale_of(maps.maps, language);
  bool is_signed = false;
  std::string html = "<div class=\"beside\">\n";
  for (const HeatMap& map : maps.maps) {
    is_signed |= has_negative(map.numbers);
    absl::StrAppend(&html, "<div class=\"one\">\n", element("p", map.title.in(language), "soft"),
                    in_box(svg_of(map, scale, language)), "</div>\n");
  }
  return absl::StrCat(html, "</div>\n", colour_bar(scale.largest, is_signed));
}

std::string drawn(const HeatMap& map, Language language) {
  const MapScale scale = scale_of({&map, 1}, language);
  return absl::StrCat(in_box(svg_of(map, scale, language)),
                      colour_bar(scale.largest, has_negative(map.numbers)));
}

std::string drawn(const Bars& bars, Language language) {
  std::string html = "<ul class=\"legend of-parts\">\n";
  for (size_t i = 0; i < bars.parts.size(); ++i) html += legend_item(bars.parts[i], i, language);
  return absl::StrCat(html, "</ul>\n", in_box(svg_of(bars, language)));
}

std::string drawn(const Table& table, Language language) {
  const std::string html = table_html(table.header, table.rows, language);
  return table.is_map ? absl::StrCat("<div class=\"where\">\n", html, "</div>\n") : html;
}

template <class Drawn>
std::string drawn(const Drawn& figure, Language language) {
  return in_box(svg_of(figure, language));
}

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

std::string table_html(const std::vector<Text>& header, const std::vector<std::vector<Text>>& rows,
                       Language language) {
  const auto escaped_row = [language](const std::vector<Text>& row) {
    return each_of(row, [language](const Text& cell) { return escaped(cell.in(language)); });
  };
  return table_of(escaped_row(header), each_of(rows, escaped_row));
}

std::string figure_html(const Figure& figure, Language language) {
  return std::visit(
      [&](const auto& each) {
        return absl::StrCat("<figure>\n", element("figcaption", each.title.in(language)),
                            drawn(each, language), "</figure>\n");
      },
      figure);
}

std::string figures_html(const std::vector<Figure>& figures) {
  std::string html = "<div class=\"figures\">\n";
  for (const Figure& figure : figures) {
    html += in_both([&](Language language) { return figure_html(figure, language); });
  }
  return html + "</div>\n";
}

}  // namespace qkv
