#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/report/figure.h"
#include "apps/report/html/html.h"
#include "apps/report/texts/texts.h"

namespace qkv {

// A whole page that is there in both languages, shows `first`, and has a button for the other. The
// page's script is in it.
std::string page_in_both(const Text& title, const std::string& body, Language first);

// A part of such a page in both languages, one of them shown; if both are the same, once.
std::string in_both(const std::function<std::string(Language)>& part);
std::string in_both(const Text& text);  // within a line

// Parts of such a page.
std::string titled_html(const Text& heading, const std::string& html);
std::string paragraph_html(const Text& text, const std::string& kind = "");
std::string folded_html(const Text& title, const std::string& html);
std::string figures_html(const std::vector<Figure>& figures);

// <figure>: its title, its drawing or its table, and what the colours in it mean.
std::string figure_html(const Figure& figure, Language language);

// A table: the cells are texts.
std::string table_html(const std::vector<Text>& header, const std::vector<std::vector<Text>>& rows,
                       Language language);

}  // namespace qkv
