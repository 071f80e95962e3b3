#include <numbers>
#include <vector>

#include "apps/report/svg/svg_parts.h"

namespace qkv {
namespace {

constexpr double kColumn = 704;        // of a page
constexpr double kLeastBesides = 340;  // of one of several maps
constexpr double kMostCell = 34, kLeastCell = 5;
constexpr double kLeastNamed = 12;   // of a cell whose row or column has a name
constexpr double kMostForName = 64;  // of a cell that is as wide as the name of its column
constexpr double kGap = 6;           // between names and cells
constexpr double kAxisName = 18;

double widest(const std::vector<Text>& names, int64_t count, Language language) {
  double widest = 0;
  for (int64_t i = 0; i < count; ++i) {
    widest = std::max(widest, pixels_of(HeatMap::name_in(names, i).in(language)));
  }
  return widest;
}

double room_for_numbers(const HeatMap& map, double largest) {
  double longest = 0;
  for (const double x : map.numbers) {
    longest = std::max(longest, pixels_of(number_in_cell(x, largest)));
  }
  return 6 + longest;
}

class Map {
 public:
  Map(const HeatMap& map, const MapScale& scale, Language language)
      : map_(map), language_(language), scale_(scale), cell_(scale.cell) {
    const double wide = widest(map.column_names, map.columns, language);
    const bool is_named = !map.column_names.empty();
    // Names that are too wide for their columns are turned, none is left out; of indices some are.
    degrees_ = !is_named || wide < cell_ - 1 ? 0 : cell_ >= 16 ? 50 : 90;
    column_step_ = is_named ? 1 : step_for(wide + 4);
    row_step_ = map.row_names.empty() ? step_for(kLineOfText - 3) : 1;
    left_ = widest(map.row_names, map.rows, language) + kGap + axis_room(map.row_axis);
    const double turn = degrees_ * std::numbers::pi / 180;
    top_ = (degrees_ == 0 ? 12 : wide * std::sin(turn) + 10 * std::cos(turn)) + kGap +
           axis_room(map.column_axis);
    right_ = left_ + cell_ * static_cast<double>(map.columns);
    width_ = std::max(right_ + (degrees_ == 50 ? wide * std::cos(turn) : wide / 2),
                      left_ + pixels_of(map.column_axis.in(language)));
    height_ = std::max(top_ + cell_ * static_cast<double>(map.rows) + 4,
                       pixels_of(map.row_axis.in(language)) + top_);
  }

  std::string svg() const {
    std::string svg = svg_begin("map", width_, height_, map_.title.in(language_));
    absl::StrAppend(&svg, axis_names(), column_names());
    for (int64_t row = 0; row < map_.rows; ++row) svg += row_of_cells(row);
    return svg + "</svg>\n";
  }

 private:
  double axis_room(const Text& name) const { return name.empty() ? 0 : kAxisName; }

  int64_t step_for(double room) const {
    int64_t step = 1;
    while (static_cast<double>(step) * cell_ < room) step *= 2;
    return step;
  }

  std::string axis_names() const {
    std::string svg;
    if (!map_.column_axis.empty()) {
      svg += text_at(left_, 12, "start", map_.column_axis.in(language_) + " →", " class=\"name\"");
    }
    if (map_.row_axis.empty()) return svg;
    return svg +
           text_at(12, top_, "end", "← " + map_.row_axis.in(language_),
                   absl::StrFormat(" class=\"name\" transform=\"rotate(-90 12 %.1f)\"", top_));
  }

  std::string column_names() const {
    std::string svg;
    for (int64_t column = 0; column < map_.columns; column += column_step_) {
      const double x = left_ + cell_ * (static_cast<double>(column) + 0.5), y = top_ - kGap;
      const std::string name = map_.column_name(column).in(language_);
      if (degrees_ == 0) {
        svg += text_at(x, y, "middle", name);
      } else {
        svg +=
            text_at(x + 4, y, "start", name,
                    absl::StrFormat(" transform=\"rotate(-%.0f %.1f %.1f)\"", degrees_, x + 4, y));
      }
    }
    return svg;
  }

  std::string row_of_cells(int64_t row) const {
    const double y = top_ + cell_ * static_cast<double>(row);
    const std::string row_name = map_.row_name(row).in(language_);
    std::string svg;
    if (row % row_step_ == 0) svg += text_at(left_ - kGap, y + cell_ / 2 + 4, "end", row_name);
    for (int64_t column = 0; column < map_.columns; ++column) {
      const double number = map_.numbers[row * map_.columns + column];
      const double x = left_ + cell_ * static_cast<double>(column);
      absl::StrAppendFormat(
          &svg, "<path %s d=\"M%.1f %.1fh%.1fv%.1fh-%.1fz\"><title>%s, %s: %s</title></path>\n",
          colour_of_cell(number, scale_.largest), x, y, cell_, cell_, cell_, escaped(row_name),
          escaped(map_.column_name(column).in(language_)),
          !std::isfinite(number) ? "–" : format_number(number));
      if (!scale_.has_numbers || !std::isfinite(number)) continue;
      svg += text_at(x + cell_ / 2, y + cell_ / 2 + 4, "middle",
                     number_in_cell(number, scale_.largest));
    }
    return svg;
  }

  const HeatMap& map_;
  Language language_;
  MapScale scale_;
  double cell_;
  double degrees_ = 0, left_ = 0, top_ = 0, right_ = 0, width_ = 0, height_ = 0;
  int64_t column_step_ = 1, row_step_ = 1;
};

}  // namespace

MapScale scale_of(std::span<const HeatMap> maps, Language language) {
  MapScale scale = {.cell = kMostCell};
  double room = 0, left = 0, columns = 1, name = 0;
  bool is_named = false;
  for (const HeatMap& map : maps) {
    scale.largest = std::max(scale.largest, largest_size_of(map.numbers));
  }
  for (const HeatMap& map : maps) {
    room = std::max(room, room_for_numbers(map, scale.largest));
    left = std::max(left, widest(map.row_names, map.rows, language) + kGap + kAxisName);
    columns = std::max(columns, static_cast<double>(map.columns));
    if (!map.column_names.empty()) {
      name = std::max(name, widest(map.column_names, map.columns, language) + 6);
    }
    is_named |= !map.row_names.empty() || !map.column_names.empty();
  }
  const double count = static_cast<double>(maps.size());
  const double width = count < 2 ? kColumn : std::max(kLeastBesides, kColumn / count);
  const double most = (width - left - 16) / columns;
  scale.has_numbers = room <= most;
  scale.cell = std::max({scale.has_numbers ? room : 0, std::min(kMostCell, most),
                         is_named ? kLeastNamed : kLeastCell});
  if (name <= std::min(most, kMostForName)) scale.cell = std::max(scale.cell, name);
  return scale;
}

std::string svg_of(const HeatMap& map, const MapScale& scale, Language language) {
  return Map(map, scale, language).svg();
}

std::string svg_of(const HeatMap& map, Language language) {
  return svg_of(map, scale_of({&map, 1}, language), language);
}

std::string colour_bar(double largest, bool has_negative) {
  constexpr int kSteps = 24;
  constexpr double kBarWidth = 192, kBarHeight = 10;
  const double left = pixels_of(format_number(-largest)) / 2 + 2;
  const double low = has_negative ? -largest : 0, step = kBarWidth / kSteps;
  std::string svg = svg_begin("bar", kBarWidth + 2 * left, kBarHeight + 20,
                              absl::StrCat(format_number(low), " … ", format_number(largest)));
  for (int i = 0; i < kSteps; ++i) {
    const double number = low + (largest - low) * (i + 0.5) / kSteps;
    absl::StrAppendFormat(&svg, "<path %s d=\"M%.1f 0h%.1fv%.1fh-%.1fz\"/>\n",
                          colour_of_cell(number, largest), left + i * step, step, kBarHeight, step);
  }
  std::vector<double> marked = {0};
  if (largest > 0) marked.push_back(largest);
  if (has_negative) marked.push_back(-largest);
  for (const double number : marked) {
    const double x = largest > 0 ? left + kBarWidth * (number - low) / (largest - low) : left;
    svg += text_at(x, kBarHeight + 14, "middle", format_number(number));
  }
  return svg + "</svg>\n";
}

}  // namespace qkv
