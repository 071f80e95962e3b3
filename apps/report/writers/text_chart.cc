#include "apps/report/writers/text_chart.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/report/axis.h"
#include "apps/report/statistics.h"

namespace qkv {
namespace {

constexpr const char* kMarks[] = {"●", "○", "▲", "△", "■", "□", "◆", "◇"};
// In the order of the colours of a page: blue, orange, green, violet, ochre, cyan, pink, grey.
constexpr const char* kTerminalColours[] = {"34", "33", "32", "35", "93", "36", "95", "90"};
constexpr int64_t kDotsAcross = 2, kDotsDown = 4;  // of a Braille character

const char* mark_of(size_t series) { return kMarks[series % std::size(kMarks)]; }

// The character with these dots, a bit for each, in UTF-8.
std::string braille(unsigned dots) {
  const unsigned code = 0x2800 + dots;
  return {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

unsigned bit_of_dot(int64_t column, int64_t row) {
  constexpr unsigned kBits[kDotsDown][kDotsAcross] = {{0, 3}, {1, 4}, {2, 5}, {6, 7}};
  return 1U << kBits[row][column];
}

struct Cell {
  unsigned dots = 0;
  const char* mark = nullptr;
  size_t colour = 0;
};

bool is_dotted(const LineChart& chart, size_t series, const TextChartStyle& style) {
  if (chart.series[series].has_marks) return false;
  const auto is_line = [](const Series& each) { return !each.has_marks; };
  return style.has_colours || std::ranges::count_if(chart.series, is_line) == 1;
}

std::string in_colour(const std::string& text, size_t colour) {
  return absl::StrCat("\x1b[", kTerminalColours[colour % std::size(kTerminalColours)], "m", text,
                      "\x1b[0m");
}

class Canvas {
 public:
  Canvas(const LineChart& chart, const TextChartStyle& style)
      : chart_(chart),
        style_(style),
        x_(x_axis(chart)),
        y_(y_axis(chart)),
        cells_(static_cast<size_t>(style.columns * style.rows)) {
    for (size_t i = 0; i < chart.series.size(); ++i) {
      if (!chart.series[i].has_marks) draw(i);
    }
    for (size_t i = 0; i < chart.series.size(); ++i) {  // above the lines
      if (chart.series[i].has_marks) draw(i);
    }
  }

  std::string text() const {
    std::vector<std::string> labels(static_cast<size_t>(style_.rows));
    for (const double tick : y_.ticks()) {
      const int64_t row = std::lround((1 - y_.place(tick)) * static_cast<double>(style_.rows - 1));
      if (row > 1 && row < style_.rows - 2) labels[row] = format_number(tick);
    }
    labels.back() = format_number(y_.low());
    labels.front() = format_number(y_.high());
    std::string text;
    for (int64_t row = 0; row < style_.rows; ++row) {
      absl::StrAppend(&text, absl::StrFormat("%10s │", labels[row]), row_of_cells(row), "\n");
    }
    const std::string low = format_number(x_.low()), high = format_number(x_.high());
    const int64_t between = style_.columns - std::ssize(low) - std::ssize(high);
    return absl::StrCat(text, std::string(kTextChartMargin, ' '), low,
                        std::string(static_cast<size_t>(std::max<int64_t>(1, between)), ' '), high,
                        "\n");
  }

 private:
  void draw(size_t index) {
    const Series& series = chart_.series[index];
    const bool has_dots = is_dotted(chart_, index, style_);
    const int64_t columns = style_.columns * (has_dots ? kDotsAcross : 1);
    const int64_t rows = style_.rows * (has_dots ? kDotsDown : 1);
    bool is_first = true;
    int64_t last_column = 0, last_row = 0;
    for (size_t i = 0; i < series.x.size(); ++i) {
      if (!x_.shows(series.x[i]) || !y_.shows(series.y[i])) continue;
      const int64_t column = std::lround(x_.place(series.x[i]) * static_cast<double>(columns - 1));
      const int64_t row = std::lround((1 - y_.place(series.y[i])) * static_cast<double>(rows - 1));
      const bool joins = !series.has_marks && !is_first;
      // So many steps that none leaves a cell out.
      const int64_t steps =
          joins ? std::max(std::abs(column - last_column), std::abs(row - last_row)) : 0;
      for (int64_t step = 0; step < steps; ++step) {
        const double share = static_cast<double>(step) / static_cast<double>(steps);
        put(index, last_column + std::lround(share * static_cast<double>(column - last_column)),
            last_row + std::lround(share * static_cast<double>(row - last_row)), has_dots);
      }
      put(index, column, row, has_dots);
      last_column = column, last_row = row, is_first = false;
    }
  }

  void put(size_t series, int64_t column, int64_t row, bool is_dot) {
    const int64_t across = is_dot ? kDotsAcross : 1, down = is_dot ? kDotsDown : 1;
    Cell& cell = cells_[row / down * style_.columns + column / across];
    cell.colour = chart_.series[series].colour.value_or(series);
    if (is_dot) {
      cell.dots |= bit_of_dot(column % across, row % down);
    } else {
      cell.mark = mark_of(series);
    }
  }

  std::string row_of_cells(int64_t row) const {
    std::string text;
    int64_t spaces = 0;  // those at the end of a row are left out
    for (int64_t column = 0; column < style_.columns; ++column) {
      const Cell& cell = cells_[row * style_.columns + column];
      if (!cell.mark && cell.dots == 0) {
        ++spaces;
        continue;
      }
      text.append(static_cast<size_t>(spaces), ' ');
      spaces = 0;
      const std::string glyph = cell.mark ? cell.mark : braille(cell.dots);
      text += style_.has_colours ? in_colour(glyph, cell.colour) : glyph;
    }
    return text;
  }

  const LineChart& chart_;
  const TextChartStyle& style_;
  Axis x_, y_;
  std::vector<Cell> cells_;
};

}  // namespace

std::string text_chart(const LineChart& chart, const TextChartStyle& style) {
  return Canvas(chart, style).text();
}

std::string mark_in_chart(const LineChart& chart, size_t series, const TextChartStyle& style) {
  std::string mark = is_dotted(chart, series, style) ? "─" : mark_of(series);
  if (!style.has_colours) return mark;
  return in_colour(mark, chart.series[series].colour.value_or(series));
}

}  // namespace qkv
