#include "apps/report/writers/figure_html.h"

#include "absl/strings/str_cat.h"
#include "apps/report/svg/svg.h"
#include "apps/report/svg/svg_parts.h"
#include "apps/report/writers/page_frame.h"
#include "framework/core/each_of.h"

namespace qkv {
namespace {

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

}  // namespace qkv
