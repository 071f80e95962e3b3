#pragma once

#include <string>

namespace qkv {

// <tag class="kind">text</tag>, the text escaped.
std::string element(const std::string& tag, const std::string& text, const std::string& kind = "");

// A whole page that needs nothing else, in the colours that svg.h names, light or dark as the
// reader has it. `style`: CSS after that of all pages.
std::string page_of(const std::string& title, const std::string& body,
                    const std::string& style = "");

}  // namespace qkv
