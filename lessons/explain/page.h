#pragma once

#include <string>

namespace qkv {

// One HTML file with a lesson's document in it, and the variants packed, that needs nothing else
// and asks nobody for more.
std::string lesson_page(const std::string& document, const std::string& variants,
                        const std::string& title);

}  // namespace qkv
