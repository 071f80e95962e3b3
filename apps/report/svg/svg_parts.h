#pragma once

// The parts of a drawing's file.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/report/statistics.h"
#include "apps/report/svg/svg.h"

namespace qkv {

// The parts of the drawings of svg.h.
inline constexpr double kDrawingWidth = 640;  // the whole column of a page
inline constexpr double kChartHeight = 300;   // of lines
inline constexpr double kLineOfText = 15;

// <text>: `anchor` is start, middle or end; `more`: attributes after a space.
std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const std::string& more = "");
// About how many pixels a text takes, in the size of drawings.
double pixels_of(const std::string& text);

// The tag that begins a drawing of the class `kind`. One of its own width stays in its size where
// the page is narrow.
std::string svg_begin(const std::string& kind, double width, double height,
                      const std::string& title, bool has_own_width = true);

inline constexpr size_t kColoursOfSeries = 8;
std::string colour_of_series(size_t series);  // "var(--series-3)"

double largest_size_of(std::span<const double> numbers);  // 0, where none is finite
bool has_negative(std::span<const double> numbers);

// The attributes of a cell in the colour of its number, where `largest` has the deepest.
std::string colour_of_cell(double number, double largest);
std::string number_in_cell(double number, double largest);  // "0.25"

}  // namespace qkv
