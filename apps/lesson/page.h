#pragma once

#include <string>

namespace qkv {

// In zlib's format, in base64.
std::string packed(const std::string& text);

// One HTML file with a lesson's document and the variants in it, packed, that needs nothing else
// and asks nobody for more. It begins in that language, with "" in the browser's.
std::string lesson_page(const std::string& document, const std::string& variants,
                        const std::string& title, const std::string& language = "");

}  // namespace qkv
