#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "apps/report/statistics.h"
#include "apps/report/writers/page_frame.h"
#include "apps/runs/plot.h"
#include "framework/core/text/columns.h"
#include "framework/core/text/utf8.h"

// The views of a plot: a chart, text, a table of commas, a page.

namespace qkv {
namespace {

constexpr size_t kMostPoints = 1200;  // of a line that is at most 540 pixels wide
constexpr size_t kMostMarks = 40;     // of a line
constexpr int64_t kRows = 16;
constexpr double kLargestInteger = 1e15;   // that is written without a point
constexpr int64_t kColumnsOfNumbers = 50;  // beside the name of a curve

// The lowest and the highest of every few points that follow each other, so that no peak is lost.
std::vector<CurvePoint> thinned(const std::vector<CurvePoint>& points) {
  if (points.size() <= kMostPoints) return points;
  const size_t bucket = (2 * points.size() + kMostPoints - 1) / kMostPoints;
  std::vector<CurvePoint> kept;
  for (size_t begin = 0; begin < points.size(); begin += bucket) {
    const auto first = points.begin() + begin;
    const auto end =
        points.begin() + static_cast<std::ptrdiff_t>(std::min(points.size(), begin + bucket));
    std::vector<CurvePoint> finite;
    std::copy_if(first, end, std::back_inserter(finite),
                 [](const CurvePoint& p) { return std::isfinite(p.y); });
    if (finite.empty()) continue;
    const auto [low, high] = std::ranges::minmax_element(finite, {}, &CurvePoint::y);
    kept.push_back(*std::min(low, high));
    if (low != high) kept.push_back(*std::max(low, high));
  }
  return kept;
}

// Those with a number that is finite, unless no curve has one.
std::vector<const Curve*> drawn_curves(const Plot& plot) {
  std::vector<const Curve*> all, drawn;
  for (const Curve& curve : plot.curves) {
    all.push_back(&curve);
    const auto is_drawn = [](const CurvePoint& p) { return std::isfinite(p.y); };
    if (std::ranges::any_of(curve.points, is_drawn)) drawn.push_back(&curve);
  }
  return drawn.empty() ? all : drawn;
}

bool has_one_run(const Plot& plot) { return plot.curves.back().number == 0; }

Text name_of_curve(const Plot& plot, const Curve& curve) {
  const std::string run = printable(curve.run);
  if (plot.metric != "loss") return run;
  const Text part = curve.is_validation() ? say("validation") : say("training");
  return has_one_run(plot) ? part : Text(run + ": ") + part;
}

Text title_of(const Plot& plot, bool is_logarithmic) {
  const std::string metric = printable(plot.metric);
  const Text y = is_logarithmic ? say("{0} (logarithmic)", metric) : Text(metric);
  const bool has_images = plot.unit == "images";
  const Text title = say(plot.against == Against::kStep   ? "{0} against steps"
                         : plot.against == Against::kTime ? "{0} against seconds of training"
                         : has_images                     ? "{0} against images read"
                                                          : "{0} against tokens read",
                         y);
  return has_one_run(plot) ? Text(printable(plot.curves[0].run) + ": ") + title : title;
}

struct Extremes {
  CurvePoint low, high;
};
Extremes extremes_of(const Curve& curve) {
  Extremes found = {curve.points.back(), curve.points.back()};
  for (const CurvePoint& p : curve.points) {
    if (!std::isfinite(p.y)) continue;
    if (!std::isfinite(found.low.y) || p.y < found.low.y) found.low = p;
    if (!std::isfinite(found.high.y) || p.y > found.high.y) found.high = p;
  }
  return found;
}

std::vector<std::string> numbers_of(const Curve& curve) {
  const auto [low, high] = extremes_of(curve);
  return {format_number(curve.points.back().y), format_number(low.y), absl::StrCat(low.step),
          format_number(high.y), absl::StrCat(high.step)};
}

std::string cell_of_csv(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string number_of_csv(double number) {
  if (!std::isfinite(number)) return "nan";  // a line of metrics does not tell which
  if (number == std::floor(number) && std::abs(number) < kLargestInteger) {
    return absl::StrCat(static_cast<int64_t>(number));
  }
  return nlohmann::json(number).dump();
}

}  // namespace

LineChart chart_of(const Plot& plot, bool is_logarithmic) {
  LineChart chart = {.title = title_of(plot, is_logarithmic), .log_y = is_logarithmic};
  for (const Curve* curve : drawn_curves(plot)) {
    Series series = {.name = name_of_curve(plot, *curve),
                     .has_marks = curve->points.size() == 1 ||
                                  (curve->is_validation() && curve->points.size() <= kMostMarks),
                     .colour = curve->number,
                     .is_dashed = curve->is_validation()};
    for (const CurvePoint& p : thinned(curve->points)) {
      series.x.push_back(p.x);
      series.y.push_back(p.y);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

std::string plot_csv(const Plot& plot) {
  const bool has_x = plot.against != Against::kStep;
  std::string csv = absl::StrCat(kBeginningOfCurves, has_x ? plot.unit + "," : "", "value\n");
  for (const Curve& curve : plot.curves) {
    for (const CurvePoint& p : curve.points) {
      absl::StrAppend(&csv, cell_of_csv(curve.run), ",", cell_of_csv(curve.metric), ",", p.step,
                      ",", has_x ? number_of_csv(p.x) + "," : "", number_of_csv(p.y), "\n");
    }
  }
  return csv;
}

std::string plot_text(const Plot& plot, bool is_logarithmic, int64_t columns, bool has_colours) {
  const LineChart chart = chart_of(plot, is_logarithmic);
  const TextChartStyle style = {.columns = std::max<int64_t>(20, columns - kTextChartMargin),
                                .rows = kRows,
                                .has_colours = has_colours};
  // Escape sequences of colours take no columns: the marks stand before the aligned lines.
  std::vector<std::vector<std::string>> rows = {{"", "last", "smallest", "at", "largest", "at"}};
  const int64_t room = std::max<int64_t>(12, columns - kColumnsOfNumbers);
  const std::vector<const Curve*> curves = drawn_curves(plot);
  for (size_t i = 0; i < curves.size(); ++i) {
    rows.push_back({last_columns(chart.series[i].name.en, room)});
    for (std::string& number : numbers_of(*curves[i])) rows.back().push_back(std::move(number));
  }
  const std::string table = aligned(rows, {.left = 1});
  std::string text = wrapped(chart.title.en, columns) + text_chart(chart, style);
  size_t begin = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t end = table.find('\n', begin) + 1;
    absl::StrAppend(&text, i == 0 ? " " : mark_in_chart(chart, i - 1, style), " ",
                    table.substr(begin, end - begin));
    begin = end;
  }
  return text;
}

std::string plot_page(const Plot& plot, bool is_logarithmic, Language language) {
  const LineChart chart = chart_of(plot, is_logarithmic);
  Table table = {.title = say("Numbers of the curves"),
                 .header = {say("curve"), say("last"), say("smallest"), say("at step"),
                            say("largest"), say("at step")}};
  const std::vector<const Curve*> curves = drawn_curves(plot);
  for (size_t i = 0; i < curves.size(); ++i) {
    table.rows.push_back({chart.series[i].name});
    for (const std::string& number : numbers_of(*curves[i])) {
      table.rows.back().emplace_back(number);
    }
  }
  const auto figures = [&](Language shown) {
    return figure_html(chart, shown) + figure_html(table, shown);
  };
  std::string body = absl::StrCat("<h1>", in_both(say("Curves of runs")), "</h1>\n",
                                  "<div class=\"figures\">\n", in_both(figures), "</div>\n");
  for (const std::string& note : plot.notes) body += element("p", printable(note), "soft");
  return page_in_both(chart.title, body, language);
}

}  // namespace qkv
