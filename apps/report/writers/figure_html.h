#pragma once

#include <string>

#include "apps/report/figure.h"

namespace qkv {

// <figure>: its title, its drawing or its table, and what the colours in it mean.
std::string figure_html(const Figure& figure, Language language);

// A table: the cells are texts.
std::string table_html(const std::vector<Text>& header, const std::vector<std::vector<Text>>& rows,
                       Language language);

}  // namespace qkv
