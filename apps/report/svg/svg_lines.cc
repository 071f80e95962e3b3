#include <functional>

#include "apps/report/axis.h"
#include "apps/report/svg/svg_parts.h"

namespace qkv {
namespace {

constexpr double kLeft = 76, kRight = 24, kTop = 20, kBottom = 44;

class Chart {
 public:
  Chart(const LineChart& chart, Language language)
      : chart_(chart), language_(language), x_(x_axis(chart)), y_(y_axis(chart)) {}

  std::string svg() const {
    std::string svg = svg_begin("lines", kDrawingWidth, kChartHeight, chart_.title.in(language_),
                                /*has_own_width=*/false);
    svg += axes();
    for (size_t i = 0; i < chart_.series.size(); ++i) svg += line(i);
    return absl::StrCat(svg, levels(), "</svg>\n");
  }

 private:
  static constexpr double kEnd = kDrawingWidth - kRight, kFoot = kChartHeight - kBottom;

  double left_of(double x) const { return kLeft + x_.place(x) * (kEnd - kLeft); }
  double top_of(double y) const { return kTop + (1 - y_.place(y)) * (kFoot - kTop); }

  std::string axes() const {
    std::string svg;
    for (const double tick : y_.ticks()) {
      svg += across("grid", top_of(tick));
      svg += text_at(kLeft - 6, top_of(tick) + 4, "end", format_number(tick));
    }
    for (const double tick : ticks_with_room()) {
      absl::StrAppendFormat(&svg, "<path class=\"axis\" d=\"M%.1f %.1fv4\"/>\n", left_of(tick),
                            kFoot);
      svg += text_at(left_of(tick), kFoot + 17, "middle", format_number(tick));
    }
    absl::StrAppendFormat(&svg, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", kLeft, kTop,
                          kFoot, kEnd);
    if (!chart_.x_label.empty()) {
      svg += text_at((kLeft + kEnd) / 2, kChartHeight - 8, "middle", chart_.x_label.in(language_));
    }
    if (chart_.y_label.empty()) return svg;
    const double middle = (kTop + kFoot) / 2;
    return svg + text_at(14, middle, "middle", chart_.y_label.in(language_),
                         absl::StrFormat(" transform=\"rotate(-90 14 %.1f)\"", middle));
  }

  static std::string across(const char* kind, double y) {
    return absl::StrFormat("<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                           kind, kLeft, kEnd, y, y);
  }

  // From the first on, those whose numbers do not run into each other.
  std::vector<double> ticks_with_room() const {
    std::vector<double> ticks;
    double free_from = 0;
    for (const double tick : x_ticks(chart_, x_)) {
      const double half = pixels_of(format_number(tick)) / 2;
      if (left_of(tick) - half < free_from) continue;
      free_from = left_of(tick) + half + 4;
      ticks.push_back(tick);
    }
    return ticks;
  }

  std::string line(size_t index) const {
    const Series& series = chart_.series[index];
    std::string points, marks;
    for (size_t i = 0; i < series.x.size(); ++i) {
      if (!x_.shows(series.x[i]) || !y_.shows(series.y[i])) continue;
      const double x = left_of(series.x[i]), y = top_of(series.y[i]);
      absl::StrAppendFormat(&points, "%.1f,%.1f ", x, y);
      if (series.has_marks)
        absl::StrAppendFormat(&marks, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.8\"/>\n", x, y);
      if (series.spread.empty()) continue;
      const double low = series.y[i] - series.spread[i], high = series.y[i] + series.spread[i];
      if (!y_.shows(low)) continue;
      absl::StrAppendFormat(&marks, "<path d=\"M%.1f %.1fV%.1f\"/>\n", x, top_of(low),
                            top_of(high));
    }
    return absl::StrCat(
        "<g class=\"series\" style=\"--colour: ", colour_of_series(series.colour.value_or(index)),
        "\">\n<title>", escaped(series.name.in(language_)), "</title>\n<polyline",
        series.is_dashed ? " stroke-dasharray=\"6 3\"" : "", " points=\"", points, "\"/>\n", marks,
        "</g>\n");
  }

  // Each with its name at the right end above it, and above those of lower ones.
  std::string levels() const {
    std::vector<std::pair<double, std::string>> lowest_first;
    for (const auto& [name, y] : chart_.levels) {
      if (y_.shows(y)) lowest_first.emplace_back(top_of(y), name.in(language_));
    }
    std::ranges::sort(lowest_first, std::greater());
    std::string svg;
    double free_above = kFoot;
    for (const auto& [y, name] : lowest_first) {
      const double base = std::max(11.0, std::min(y, free_above) - 4);
      free_above = base - 10;
      absl::StrAppend(&svg, across("level", y),
                      text_at(kEnd, base, "end", name, " class=\"level\""));
    }
    return svg;
  }

  const LineChart& chart_;
  Language language_;
  Axis x_, y_;
};

}  // namespace

std::string svg_of(const LineChart& chart, Language language) {
  return Chart(chart, language).svg();
}

}  // namespace qkv
