#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace qkv {

// How many columns of a terminal a text takes: Chinese characters two each.
int64_t text_width(std::string_view text);

// `text` in lines of at most so many columns, each after `indent`: between words, or between
// Chinese characters.
std::string wrapped(std::string_view text, int64_t columns, std::string_view indent = "");

// With spaces after it, so that it takes so many columns.
std::string padded(std::string text, int64_t columns);

}  // namespace qkv
