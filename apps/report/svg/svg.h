#pragma once

#include <span>
#include <string>

#include "apps/report/figure.h"
#include "apps/report/html/html.h"

namespace qkv {

// An <svg> whose colours are those of the page's style: --ink, --soft, --line, --paper, --positive,
// --negative, and --series-0 … --series-7. The names of series and parts are not in it: they are in
// the legend of a figure (page_frame.h).
std::string svg_of(const LineChart& chart, Language language);
std::string svg_of(const HeatMap& map, Language language);
std::string svg_of(const Bars& bars, Language language);
std::string svg_of(const Paths& paths, Language language);
std::string svg_of(const Arcs& arcs, Language language);
std::string svg_of(const Picture& picture, Language language);

// Maps beside each other: with the same size of cells, and colours for the same numbers.
struct MapScale {
  double cell = 0, largest = 0;
  bool has_numbers = false;  // in the cells
};
MapScale scale_of(std::span<const HeatMap> maps, Language language);
std::string svg_of(const HeatMap& map, const MapScale& scale, Language language);
// The colours from one end of the numbers to the other.
std::string colour_bar(double largest, bool has_negative);

// The chart with its title and its legend as a file of its own, in the light colours of the pages,
// which other programs can read.
std::string svg_file(const LineChart& chart, Language language);

}  // namespace qkv
