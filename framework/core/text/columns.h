#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qkv {

// The number of terminal columns that a text takes: a Chinese character takes two.
int64_t text_width(std::string_view text);

// `text` in lines of at most `columns` columns, each after `indent`, but the first after
// `first_indent`. Lines break between words, or between Chinese characters.
std::string wrapped(std::string_view text, int64_t columns, std::string_view first_indent,
                    std::string_view indent);
inline std::string wrapped(std::string_view text, int64_t columns, std::string_view indent = "") {
  return wrapped(text, columns, indent, indent);
}

// `text` with spaces after it, so that it takes at least `columns` columns.
std::string padded(std::string text, int64_t columns);

// The beginning of `text` that fits into `columns`.
std::string first_columns(std::string_view text, int64_t columns);
// The end of `text` after "…", together at most `columns` wide, where `text` is wider: the end of a
// name says more than its beginning.
std::string last_columns(std::string_view text, int64_t columns);

// Rows of cells as lines of a table, each after `indent`, with two spaces between its columns. A
// column is as wide as its widest cell, and at least `least_width`; the first `left` columns are
// aligned at the left, the others at the right.
struct Alignment {
  size_t left = 0;
  int64_t least_width = 0;  // but of the first column
  std::string_view indent = "";
};
std::string aligned(const std::vector<std::vector<std::string>>& rows, const Alignment& alignment);

// The same, at most `columns` wide. To fit, it shortens the first column to 20, then drops the
// `least_important` columns in order (a last line names them), then shortens the first column more.
std::string fitted_table(std::vector<std::vector<std::string>> rows, const Alignment& alignment,
                         const std::vector<std::string>& least_important, int64_t columns);

}  // namespace qkv
