#include "lessons/report/figure_html.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lessons/report/page_frame.h"
#include "lessons/report/svg.h"
#include "lessons/report/svg_parts.h"

namespace qkv {
namespace {

const Text kColourBar = {"Colours of the numbers", "数与颜色"};

std::string row_html(const std::vector<Text>& cells, const char* tag, Language language) {
  std::string html = "<tr>";
  for (const Text& cell : cells) html += element(tag, cell.in(language));
  return html + "</tr>\n";
}

std::string legend_of(const std::vector<Text>& names, const char* kind, Language language) {
  std::string html = absl::StrCat("<ul class=\"legend ", kind, "\">\n");
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    absl::StrAppend(&html, "<li style=\"--colour: ", colour_of_series(i), "\">",
                    escaped(names[i].in(language)), "</li>\n");
  }
  return html + "</ul>\n";
}

std::string drawn(const LineChart& chart, Language language) {
  std::vector<Text> names;
  for (const Series& series : chart.series) names.push_back(series.name);
  return legend_of(names, "of-lines", language) + in_box(svg_of(chart, language));
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
  return absl::StrCat(html, "</div>\n",
                      colour_bar(scale.largest, is_signed, kColourBar.in(language)));
}

std::string drawn(const HeatMap& map, Language language) {
  const MapScale scale = scale_of({&map, 1}, language);
  return absl::StrCat(
      in_box(svg_of(map, scale, language)),
      colour_bar(scale.largest, has_negative(map.numbers), kColourBar.in(language)));
}

std::string drawn(const Bars& bars, Language language) {
  return legend_of(bars.parts, "of-parts", language) + in_box(svg_of(bars, language));
}

std::string drawn(const Table& table, Language language) {
  return table_html(table.header, table.rows, language);
}

template <class Drawn>
std::string drawn(const Drawn& figure, Language language) {
  return in_box(svg_of(figure, language));
}

}  // namespace

std::string in_box(const std::string& html) {
  return absl::StrCat("<div class=\"wide\">\n", html, "</div>\n");
}

std::string table_html(const std::vector<Text>& header, const std::vector<std::vector<Text>>& rows,
                       Language language) {
  std::string html =
      absl::StrCat("<table><thead>", row_html(header, "th", language), "</thead><tbody>\n");
  for (const auto& cells : rows) html += row_html(cells, "td", language);
  return in_box(html + "</tbody></table>\n");
}

std::string figure_html(const Figure& figure, Language language) {
  return std::visit(
      [&](const auto& each) {
        return absl::StrCat("<figure>\n", element("figcaption", each.title.in(language)),
                            drawn(each, language), "</figure>\n");
      },
      figure);
}

}  // namespace qkv
