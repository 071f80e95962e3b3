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
};

struct Table {
  std::string title;
  std::vector<std::string> header = {};
  std::vector<std::vector<std::string>> rows = {};
};

using Figure = std::variant<LineChart, HeatMap, Table>;

}  // namespace qkv
