#pragma once

#include <cstdint>
#include <string>

#include "apps/report/figure.h"

namespace qkv {

// How a chart is drawn in a terminal. A series without marks is a line. A line has the dots of
// Braille characters where colours tell it from others, or where there is only one; otherwise its
// own mark in each cell. Points that have marks are marks.
struct TextChartStyle {
  int64_t columns = 60, rows = 12;  // of the drawing, without the numbers at its edges
  bool has_colours = false;
};

// The drawing alone: neither its title nor what the marks mean.
std::string text_chart(const LineChart& chart, const TextChartStyle& style);

// Any figure with its title, as wide as the terminal.
std::string figure_text(const Figure& figure, Language language);

inline constexpr int64_t kTextChartMargin = 12;  // columns at the left of the drawing

// The sign of a series in a chart: its mark, or "─" where it is a line of dots; in its colour.
std::string mark_in_chart(const LineChart& chart, size_t series, const TextChartStyle& style);

}  // namespace qkv
