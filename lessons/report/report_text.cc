#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/core/columns.h"
#include "lessons/report/axis.h"
#include "lessons/report/notes.h"
#include "lessons/report/report.h"
#include "lessons/report/statistics.h"

namespace qkv {
namespace {

constexpr int64_t kPlotColumns = 60, kPlotRows = 12;
constexpr int64_t kMostCells = 10;  // of a matrix that is written in numbers
constexpr const char* kMarks[] = {"●", "○", "▲", "△", "■", "□", "◆", "◇"};
constexpr const char* kShades[] = {" ", "░", "▒", "▓", "█"};
constexpr const char* kBelowZero[] = {" ", "·", "-", "=", "≡"};

const char* mark_of(size_t series) { return kMarks[series % std::size(kMarks)]; }

std::string text_of(const LineChart& chart) {
  const Axis x = x_axis(chart), y = y_axis(chart);
  std::vector<std::string> cells(kPlotRows * kPlotColumns, " ");
  for (size_t s = 0; s < chart.series.size(); ++s) {
    const Series& series = chart.series[s];
    for (size_t i = 0; i < series.x.size(); ++i) {
      if (!x.shows(series.x[i]) || !y.shows(series.y[i])) continue;
      const auto column = std::lround(x.place(series.x[i]) * (kPlotColumns - 1));
      const auto row = std::lround((1 - y.place(series.y[i])) * (kPlotRows - 1));
      cells[static_cast<size_t>(row * kPlotColumns + column)] = mark_of(s);
    }
  }
  std::string text = absl::StrCat("  ", chart.title, "\n");
  for (int64_t row = 0; row < kPlotRows; ++row) {
    const std::string label = row == 0               ? format_number(y.high())
                              : row == kPlotRows - 1 ? format_number(y.low())
                                                     : "";
    absl::StrAppend(&text, absl::StrFormat("%10s │", label));
    for (int64_t column = 0; column < kPlotColumns; ++column) {
      text += cells[static_cast<size_t>(row * kPlotColumns + column)];
    }
    while (text.ends_with(' ')) text.pop_back();
    text += "\n";
  }
  const std::string low = format_number(x.low()), high = format_number(x.high());
  const int64_t between = kPlotColumns - std::ssize(low) - std::ssize(high);
  absl::StrAppend(&text, std::string(12, ' '), low,
                  std::string(static_cast<size_t>(std::max<int64_t>(1, between)), ' '), high, "\n");
  std::string key = absl::StrCat(chart.x_label, chart.log_x ? " (log)" : "", " → ", chart.y_label,
                                 chart.log_y ? " (log)" : "", ": ");
  for (size_t s = 0; s < chart.series.size(); ++s) {
    absl::StrAppend(&key, mark_of(s), " ", chart.series[s].name, "  ");
  }
  return text + wrapped(key, kTerminalColumns, "            ");
}

std::string text_of(const Table& table) {
  std::vector<std::vector<std::string>> lines = {table.header};
  lines.insert(lines.end(), table.rows.begin(), table.rows.end());
  const Alignment alignment = {.left = table.header.size(), .indent = "    "};
  return absl::StrCat("  ", table.title, "\n", aligned(lines, alignment));
}

std::string shade_of(double number, double largest) {
  if (!std::isfinite(number)) return "x";
  const double depth = largest > 0 ? std::abs(number) / largest : 0;
  const auto level = static_cast<size_t>(std::lround(4 * std::min(1.0, depth)));
  return number < 0 ? kBelowZero[level] : kShades[level];
}

std::string text_of(const HeatMap& map) {
  const auto at = [&map](int64_t row, int64_t column) {
    return map.numbers[static_cast<size_t>(row * map.columns + column)];
  };
  if (map.columns <= kMostCells && map.rows <= 2 * kMostCells) {
    Table table = {.title = map.title, .header = {""}, .rows = {}};
    for (int64_t column = 0; column < map.columns; ++column) {
      table.header.push_back(map.column_name(column));
    }
    for (int64_t row = 0; row < map.rows; ++row) {
      table.rows.push_back({map.row_name(row)});
      for (int64_t column = 0; column < map.columns; ++column) {
        const double x = at(row, column);
        table.rows.back().push_back(std::isnan(x) ? "·" : absl::StrFormat("%.3g", x));
      }
    }
    return text_of(table);
  }
  double largest = 0;
  for (const double x : map.numbers) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  // What is larger than the terminal is shown in steps.
  const int64_t step = 1 + (std::max(map.columns, 2 * map.rows) - 1) / (kTerminalColumns - 8);
  std::string text = absl::StrCat("  ", map.title, ", █ ", format_number(largest), "\n");
  for (int64_t row = 0; row < map.rows; row += step) {
    text += "    ";
    for (int64_t column = 0; column < map.columns; column += step) {
      text += shade_of(at(row, column), largest);
    }
    text += "\n";
  }
  return text;
}

std::string text_of(const Finding& finding) {
  const char* const sign = finding.agreement == FindingResult::kAgrees      ? "✓"
                           : finding.agreement == FindingResult::kDisagrees ? "✗"
                                                                            : "?";
  const std::string what =
      absl::StrCat(sign, " ", finding.what, finding.in_condition ? "" : " (beyond the condition)");
  const std::string numbers =
      absl::StrCat("predicted ", finding.predicted, "; measured ", finding.measured);
  const std::string line = absl::StrCat(what, ": ", numbers);
  if (text_width(line) + 2 <= kTerminalColumns) return wrapped(line, kTerminalColumns, "  ");
  return absl::StrCat(wrapped(what, kTerminalColumns, "  "),
                      wrapped(numbers, kTerminalColumns, "      "));
}

std::string text_of(const Section& section) {
  std::string text;
  for (const Claim& claim : section.claims) {
    text += wrapped(absl::StrCat(claim.place, "  ", claim.chinese), kTerminalColumns);
    text += wrapped(claim.english, kTerminalColumns, "     ");
  }
  if (!section.formula.empty())
    absl::StrAppend(&text, "\n", wrapped(section.formula, kTerminalColumns, "    "));
  absl::StrAppend(
      &text, "\n",
      wrapped(absl::StrCat("Prediction: ", section.prediction), kTerminalColumns) + "\n");
  for (const Finding& finding : section.findings) text += text_of(finding);
  for (const Figure& figure : section.figures) {
    absl::StrAppend(&text, "\n",
                    std::visit([](const auto& each) { return text_of(each); }, figure));
  }
  absl::StrAppend(&text, "\n",
                  wrapped(absl::StrCat("Verdict: ", section.verdict_text()), kTerminalColumns));
  if (!section.correction.empty()) text += wrapped(section.set_right(), kTerminalColumns);
  return text;
}

}  // namespace

std::string report_text(const Report& report) {
  std::string text = wrapped(absl::StrCat(report.name, ": ", report.question), kTerminalColumns);
  if (!report.control.empty()) {
    text += wrapped(absl::StrCat("CONTROL: ", report.control), kTerminalColumns);
  }
  for (const Section& section : report.sections) {
    absl::StrAppend(&text, "\n", std::string(60, '-'), "\n", text_of(section));
  }
  absl::StrAppend(&text, "\n", wrapped(legend_of({&report, 1}), kTerminalColumns));
  if (report.measures_time) text += "Figures of time differ each run.\n";
  return text;
}

}  // namespace qkv
