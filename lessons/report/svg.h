#pragma once

#include <string>

#include "lessons/report/figure.h"

namespace qkv {

// Text between tags, or in a quoted attribute, of HTML or SVG.
std::string escaped(const std::string& text);

// An <svg> whose colours are those of the page's style: --ink, --soft, --line, --paper, --positive,
// --negative, and --series-0 … --series-7.
std::string svg_of(const LineChart& chart, Language language);
std::string svg_of(const HeatMap& map, Language language);

}  // namespace qkv
