#include <vector>

#include "absl/strings/str_replace.h"
#include "apps/report/svg/svg_parts.h"
#include "apps/report/writers/page_files.h"

namespace qkv {
namespace {

constexpr double kTitleHeight = 26, kLegendRow = 18, kLegendLine = 26, kLegendGap = 18;

// The value of a colour in the style of pages, as light pages have it: it comes first there.
std::string light_colour(const std::string& name) {
  const std::string key = absl::StrCat("--", name, ": ");
  const size_t begin = kReportStyle.find(key) + key.size();
  return kReportStyle.substr(begin, kReportStyle.find(';', begin) - begin);
}

// Other programs than browsers know no variables of CSS.
std::string style_of_file() {
  return absl::StrCat(
      "<style>text{font:11px sans-serif;fill:", light_colour("ink"),
      "} .grid{stroke:", light_colour("line"), "} .axis{stroke:", light_colour("soft"),
      ";fill:none} .series polyline{fill:none;stroke-width:1.6} .series circle{stroke:none} "
      ".level{stroke:",
      light_colour("soft"),
      ";stroke-dasharray:5 4} text.level{stroke:none;fill:", light_colour("soft"), "}</style>\n");
}

std::string with_plain_colours(const std::string& svg) {
  std::vector<std::pair<std::string, std::string>> replacements;
  for (size_t i = 0; i < kColoursOfSeries; ++i) {
    const std::string colour = light_colour(absl::StrCat("series-", i));
    replacements.emplace_back(absl::StrCat("style=\"--colour: ", colour_of_series(i), "\""),
                              absl::StrCat("stroke=\"", colour, "\" fill=\"", colour, "\""));
  }
  return absl::StrReplaceAll(svg, replacements);
}

struct SvgLegend {
  std::string svg;
  double height = 0;
};

// The names of the lines, in as many rows as they need.
SvgLegend legend_in_svg(const LineChart& chart, Language language) {
  SvgLegend legend;
  double x = kLegendGap, y = kTitleHeight + kLegendRow / 2;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    const std::string name = series.name.in(language);
    if (name.empty()) continue;
    const double width = kLegendLine + pixels_of(name) + kLegendGap;
    if (x > kLegendGap && x + width > kDrawingWidth) x = kLegendGap, y += kLegendRow;
    absl::StrAppendFormat(
        &legend.svg,
        "<g style=\"--colour: %s\"><path stroke-width=\"2\" d=\"M%.1f %.1fh20\"%s/></g>\n%s",
        colour_of_series(series.colour.value_or(i)), x, y,
        series.is_dashed ? " stroke-dasharray=\"6 3\"" : "",
        text_at(x + kLegendLine, y + 4, "start", name));
    x += width;
  }
  if (!legend.svg.empty()) legend.height = y + kLegendRow / 2 - kTitleHeight;
  return legend;
}

}  // namespace

std::string svg_file(const LineChart& chart, Language language) {
  const SvgLegend legend = legend_in_svg(chart, language);
  const double top = kTitleHeight + legend.height, height = top + kChartHeight;
  const std::string begin = "<svg ";
  std::string drawing = svg_of(chart, language);
  drawing.replace(0, begin.size(),
                  absl::StrFormat("<svg y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" ", top,
                                  kDrawingWidth, kChartHeight));
  return absl::StrCat(
      absl::StrFormat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
                      "width=\"%.0f\" height=\"%.0f\">\n",
                      kDrawingWidth, height, kDrawingWidth, height),
      style_of_file(), "<rect width=\"100%\" height=\"100%\" fill=\"", light_colour("paper"),
      "\"/>\n",
      text_at(kLegendGap, 18, "start", chart.title.in(language), " style=\"font-size:13px\""),
      with_plain_colours(legend.svg), with_plain_colours(drawing), "</svg>\n");
}

}  // namespace qkv
