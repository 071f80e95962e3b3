#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "apps/report/texts/text.h"

namespace qkv {

// A figure of a report: text in a terminal, a drawing on a page.

struct Series {
  Text name;
  std::vector<double> x = {}, y = {};
  std::vector<double> spread = {};    // y ± so much; empty: none is drawn
  bool has_marks = true;              // a dot at each point
  std::optional<size_t> colour = {};  // its place among the colours; by default that of the series
  bool is_dashed = false;
};
// NaN, and a value without a logarithm on a logarithmic axis, is left out.
struct LineChart {
  Text title, x_label = {}, y_label = {};
  bool log_x = false, log_y = false;
  std::vector<Series> series = {};
  std::vector<std::pair<Text, double>> levels = {};  // y with a name: "by guessing"
};

// Colours from zero to the largest size; with a negative number among them, to both signs.
struct HeatMap {
  Text title;
  int64_t rows = 0, columns = 0;
  std::vector<double> numbers = {};  // row-major; NaN: there is none, as where a mask hides
  std::vector<Text> row_names = {}, column_names = {};  // empty: their indices
  Text row_axis = {}, column_axis = {};                 // "queries", "keys"

  Text row_name(int64_t row) const { return name_in(row_names, row); }
  Text column_name(int64_t column) const { return name_in(column_names, column); }
  static Text name_in(const std::vector<Text>& names, int64_t i) {
    return names.empty() ? Text(std::to_string(i)) : names[i];
  }
};

struct Table {
  Text title;
  std::vector<Text> header = {};
  std::vector<std::vector<Text>> rows = {};
  bool is_map = false;  // of ✓ and ✗, by the quantities of the header and the first column
};

// Side by side, in one scale and one size of cells.
struct HeatMaps {
  Text title;
  std::vector<HeatMap> maps = {};
};

// Bars of parts that are stacked: shares[bar][part].
struct Bars {
  Text title;
  std::vector<Text> bars = {}, parts = {};
  std::vector<std::vector<double>> shares = {};
};

// Ways of points in a plane, with an arrow at the end of each step.
struct Path {
  Text name;
  std::vector<double> x = {}, y = {};
};
struct Paths {
  Text title, x_label = {}, y_label = {};
  std::vector<Path> paths = {};
};

// Attention over words: a line from query to key as thick as its weight.
struct Arcs {
  Text title;
  std::vector<Text> queries = {}, keys = {};
  std::vector<double> weights = {};  // [queries, keys]
};

// Attention over a picture: each patch has a frame as strong as its weight.
struct Picture {
  Text title;
  int64_t rows = 0, columns = 0, patch = 1;  // a patch has patch × patch pixels
  std::vector<double> pixels = {};           // [rows, columns], 0 … 1
  std::vector<double> weights = {};          // [rows / patch, columns / patch]
};

using Figure = std::variant<LineChart, HeatMap, HeatMaps, Bars, Paths, Arcs, Picture, Table>;

}  // namespace qkv
