#pragma once

#include <functional>
#include <string>

#include "lessons/report/text.h"

namespace qkv {

// <tag class="kind">text</tag>, the text escaped.
std::string element(const std::string& tag, const std::string& text, const std::string& kind = "");

// A whole page that needs nothing else, in the colours that svg.h names, light or dark as the
// reader has it. `style`: CSS after that of all pages.
std::string page_of(const std::string& title, const std::string& body,
                    const std::string& style = "");

// A whole page that is there in both languages, shows `first`, and has a button for the other. The
// page's script is in it.
std::string page_in_both(const Text& title, const std::string& body, Language first);

// A part of such a page in both languages, of which one is shown; what is the same is there once.
std::string in_both(const std::function<std::string(Language)>& part);
std::string in_both(const Text& text);  // within a line

}  // namespace qkv
