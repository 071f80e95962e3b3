#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace qkv {

// What a report shows: as text in a terminal, as a drawing on a page.

struct Series {
  std::string name;
  std::vector<double> x = {}, y = {};
  std::vector<double> spread = {};  // y ± so much; empty: none is drawn
  bool has_marks = true;            // a dot at each point
};
// What is no number, or has no logarithm where an axis is one, is left out.
struct LineChart {
  std::string title, x_label = {}, y_label = {};
  bool log_x = false, log_y = false;
  std::vector<Series> series = {};
};

// Colours from zero to the largest size; with a negative number among them, to both signs.
struct HeatMap {
  std::string title;
  int64_t rows = 0, columns = 0;
  std::vector<double> numbers = {};  // row-major; NaN: there is none, as where a mask hides
  std::vector<std::string> row_names = {}, column_names = {};  // empty: their indices

  std::string row_name(int64_t row) const { return name_in(row_names, row); }
  std::string column_name(int64_t column) const { return name_in(column_names, column); }
  static std::string name_in(const std::vector<std::string>& names, int64_t i) {
    return names.empty() ? std::to_string(i) : names[static_cast<size_t>(i)];
  }
};

struct Table {
  std::string title;
  std::vector<std::string> header = {};
  std::vector<std::vector<std::string>> rows = {};
};

using Figure = std::variant<LineChart, HeatMap, Table>;

}  // namespace qkv
