#include "lessons/report/svg.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "framework/core/columns.h"
#include "lessons/report/axis.h"
#include "lessons/report/statistics.h"

namespace qkv {
namespace {

constexpr double kWidth = 640, kHeight = 300;
constexpr double kLeft = 76, kRight = 150, kTop = 12, kBottom = 44;
constexpr size_t kColours = 8;
constexpr double kLineHeight = 15;
constexpr double kCell = 34, kMapWidth = 480;
// The percentage of colour in the deepest cell: numbers in ink keep a contrast of 4.5 to 1.
constexpr double kDeepest = 60;

std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const std::string& more = "") {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y,
                         anchor, more, escaped(text));
}

class Chart {
 public:
  Chart(const LineChart& chart, Language language)
      : chart_(chart), language_(language), x_(x_axis(chart)), y_(y_axis(chart)) {}

  std::string svg() const {
    std::string svg = absl::StrFormat(
        "<svg class=\"lines\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">\n", kWidth,
        kHeight, escaped(chart_.title.in(language_)));
    svg += axes();
    for (size_t i = 0; i < chart_.series.size(); ++i) svg += line(i);
    return svg + "</svg>\n";
  }

 private:
  double left_of(double x) const { return kLeft + x_.place(x) * (kWidth - kLeft - kRight); }
  double top_of(double y) const { return kTop + (1 - y_.place(y)) * (kHeight - kTop - kBottom); }

  std::string axes() const {
    const double right = kWidth - kRight, bottom = kHeight - kBottom;
    std::string svg;
    for (const double tick : y_.ticks()) {
      absl::StrAppendFormat(&svg,
                            "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" "
                            "y2=\"%.1f\"/>\n",
                            kLeft, right, top_of(tick), top_of(tick));
      svg += text_at(kLeft - 6, top_of(tick) + 4, "end", format_number(tick));
    }
    for (const double tick : x_.ticks()) {
      svg += text_at(left_of(tick), bottom + 16, "middle", format_number(tick));
    }
    absl::StrAppendFormat(&svg, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", kLeft, kTop,
                          bottom, right);
    svg += text_at((kLeft + right) / 2, kHeight - 8, "middle", chart_.x_label.in(language_));
    const double middle = (kTop + bottom) / 2;
    return svg + text_at(14, middle, "middle", chart_.y_label.in(language_),
                         absl::StrFormat(" transform=\"rotate(-90 14 %.1f)\"", middle));
  }

  std::string line(size_t index) const {
    const Series& series = chart_.series[index];
    std::string points, marks;
    for (size_t i = 0; i < series.x.size(); ++i) {
      if (!x_.shows(series.x[i]) || !y_.shows(series.y[i])) continue;
      const double x = left_of(series.x[i]), y = top_of(series.y[i]);
      absl::StrAppendFormat(&points, "%.1f,%.1f ", x, y);
      if (series.has_marks)
        absl::StrAppendFormat(&marks, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>\n", x, y);
      if (series.spread.empty()) continue;
      const double low = series.y[i] - series.spread[i], high = series.y[i] + series.spread[i];
      if (!y_.shows(low)) continue;
      absl::StrAppendFormat(&marks, "<path d=\"M%.1f %.1fV%.1f\"/>\n", x, top_of(low),
                            top_of(high));
    }
    std::string svg = absl::StrFormat("<g class=\"series\" style=\"--colour: var(--series-%d)\">\n",
                                      index % kColours);
    absl::StrAppend(&svg, "<polyline points=\"", points, "\"/>\n", marks);
    const double top = kTop + 8 + kLineHeight * static_cast<double>(index);
    absl::StrAppendFormat(&svg, "<path d=\"M%.1f %.1fh14\"/>\n", kWidth - kRight + 10, top - 4);
    return svg + text_at(kWidth - kRight + 28, top, "start", series.name.in(language_)) + "</g>\n";
  }

  const LineChart& chart_;
  Language language_;
  Axis x_, y_;
};

double widest(const std::vector<Text>& names, int64_t count, Language language) {
  int64_t width = 0;
  for (int64_t i = 0; i < count; ++i)
    width = std::max(width, text_width(HeatMap::name_in(names, i).in(language)));
  return 8 + 7.0 * static_cast<double>(width);
}

std::string number_in_cell(double number) {
  return std::isfinite(number) ? absl::StrFormat("%.2g", number) : "";
}

// The pixels of a cell that has room for each of the numbers.
double room_for_numbers(const HeatMap& map) {
  size_t longest = 0;
  for (const double x : map.numbers) longest = std::max(longest, number_in_cell(x).size());
  return 6 + 6.4 * static_cast<double>(longest);
}

}  // namespace

std::string escaped(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string svg_of(const LineChart& chart, Language language) {
  return Chart(chart, language).svg();
}

std::string svg_of(const HeatMap& map, Language language) {
  const double left = widest(map.row_names, map.rows, language), top = 20;
  const double room = room_for_numbers(map);
  const double max_cell = kMapWidth / static_cast<double>(map.columns);
  const bool has_numbers = room <= max_cell;
  const double cell = std::max(has_numbers ? room : 0, std::min(kCell, max_cell));
  const double wide = widest(map.column_names, map.columns, language);
  double largest = 0;
  for (const double x : map.numbers) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  const double width = left + cell * static_cast<double>(map.columns) + 4;
  const double height = top + cell * static_cast<double>(map.rows) + 4;
  std::string svg = absl::StrFormat(
      "<svg class=\"map\" viewBox=\"0 0 %.0f %.0f\" style=\"width: %.0fpx\" role=\"img\" "
      "aria-label=\"%s\">\n",
      width, height, width, escaped(map.title.in(language)));
  const auto column_step = static_cast<int64_t>(std::ceil(wide / cell));
  for (int64_t column = 0; column < map.columns; column += column_step) {
    svg += text_at(left + cell * (static_cast<double>(column) + 0.5), top - 6, "middle",
                   map.column_name(column).in(language));
  }
  const auto row_step = static_cast<int64_t>(std::ceil(kLineHeight / cell));
  for (int64_t row = 0; row < map.rows; ++row) {
    const double y = top + cell * static_cast<double>(row);
    if (row % row_step == 0) {
      svg += text_at(left - 6, y + cell / 2 + 4, "end", map.row_name(row).in(language));
    }
    for (int64_t column = 0; column < map.columns; ++column) {
      const double number = map.numbers[static_cast<size_t>(row * map.columns + column)];
      const double x = left + cell * static_cast<double>(column);
      const double share = largest > 0 ? kDeepest * std::abs(number) / largest : 0;
      const std::string fill =
          std::isfinite(number)
              ? absl::StrFormat("color-mix(in oklab, var(--%s) %.1f%%, var(--paper))",
                                number < 0 ? "negative" : "positive", share)
              : "var(--line)";
      absl::StrAppendFormat(&svg,
                            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                            "style=\"fill: %s\"><title>%s, %s: %s</title></rect>\n",
                            x, y, cell, cell, fill, escaped(map.row_name(row).in(language)),
                            escaped(map.column_name(column).in(language)),
                            std::isnan(number) ? "–" : format_number(number));
      if (!has_numbers || !std::isfinite(number)) continue;
      svg += text_at(x + cell / 2, y + cell / 2 + 4, "middle", number_in_cell(number));
    }
  }
  return svg + "</svg>\n";
}

}  // namespace qkv
