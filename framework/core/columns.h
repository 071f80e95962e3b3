#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace qkv {

inline constexpr int64_t kTerminalColumns = 80;  // of all texts for a terminal

// The number of terminal columns that a text takes: a Chinese character takes two.
int64_t text_width(std::string_view text);

// `text` in lines of at most `columns` columns, each after `indent`. Lines break between words, or
// between Chinese characters.
std::string wrapped(std::string_view text, int64_t columns, std::string_view indent = "");

// `text` with spaces after it, so that it takes at least `columns` columns.
std::string padded(std::string text, int64_t columns);

}  // namespace qkv
