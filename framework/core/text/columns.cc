#include "framework/core/text/columns.h"

#include <algorithm>

#include "framework/core/text/utf8.h"

namespace qkv {
namespace {

constexpr int64_t kReadableName = 20, kShortestName = 4;  // columns
constexpr std::string_view kFirstWide = "\u2e80", kLastWide = "\uffef";

// UTF-8 sorts as its code points do.
bool is_wide(std::string_view character) {
  return character.size() > 2 && character >= kFirstWide && character <= kLastWide;
}

std::string_view first_character(std::string_view text) {
  return text.substr(0, std::max<size_t>(1, code_point_length(text)));
}

// A piece that no line break parts: a word with the space after it, or one wide character.
std::string_view first_piece(std::string_view text) {
  size_t end = 0;
  while (end < text.size()) {
    const std::string_view character = first_character(text.substr(end));
    if (is_wide(character)) return text.substr(0, end > 0 ? end : character.size());
    end += character.size();
    if (character == " ") break;
  }
  return text.substr(0, end);
}

std::string_view without_space(std::string_view text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

int64_t widest_line(std::string_view lines) {
  int64_t width = 0;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    width = std::max(width, text_width(line));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
  }
  return width;
}

}  // namespace

int64_t text_width(std::string_view text) {
  int64_t width = 0;
  while (!text.empty()) {
    const std::string_view character = first_character(text);
    width += is_wide(character) ? 2 : 1;
    text.remove_prefix(character.size());
  }
  return width;
}

std::string wrapped(std::string_view text, int64_t columns, std::string_view first_indent,
                    std::string_view indent) {
  std::string lines, line(first_indent);
  size_t begin = line.size();  // of the text in the line
  const auto end_line = [&] {
    lines.append(without_space(line)).append("\n");
    line = indent;
    begin = line.size();
  };
  while (!text.empty()) {
    const std::string_view piece = first_piece(text);
    text.remove_prefix(piece.size());
    if (piece == " " && line.size() == begin && !lines.empty()) continue;  // between the lines
    const bool fits = text_width(line) + text_width(without_space(piece)) <= columns;
    if (!fits && line.size() > begin) end_line();
    line.append(piece);
  }
  end_line();
  return lines;
}

std::string padded(std::string text, int64_t columns) {
  const int64_t missing = columns - text_width(text);
  if (missing > 0) text.append(static_cast<size_t>(missing), ' ');
  return text;
}

std::string first_columns(std::string_view text, int64_t columns) {
  std::string result;
  while (!text.empty()) {
    const std::string_view character = first_character(text);
    columns -= is_wide(character) ? 2 : 1;
    if (columns < 0) break;
    result += character;
    text.remove_prefix(character.size());
  }
  return result;
}

std::string last_columns(std::string_view text, int64_t columns) {
  if (text_width(text) <= columns) return std::string(text);
  while (!text.empty() && text_width(text) >= columns) {
    text.remove_prefix(first_character(text).size());
  }
  return "…" + std::string(text);
}

std::string aligned(const std::vector<std::vector<std::string>>& rows, const Alignment& alignment) {
  std::vector<int64_t> widths;
  for (const std::vector<std::string>& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) widths.push_back(i == 0 ? 0 : alignment.least_width);
      widths[i] = std::max(widths[i], text_width(row[i]));
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line(alignment.indent);
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      const bool left = i < alignment.left;
      line +=
          left ? padded(row[i], widths[i]) : padded("", widths[i] - text_width(row[i])) + row[i];
    }
    text.append(without_space(line)).append("\n");
  }
  return text;
}

std::string fitted_table(std::vector<std::vector<std::string>> rows, const Alignment& alignment,
                         const std::vector<std::string>& least_important, int64_t columns) {
  Alignment kept = alignment;
  std::string left_out;
  // With its first column shortened to what fits, but not to less than `least`.
  const auto table_with = [&](int64_t least) {
    std::string table = aligned(rows, kept);
    const int64_t excess = widest_line(table) - columns;
    if (excess <= 0) return table;
    std::vector<std::vector<std::string>> shown = rows;
    int64_t width = 0;
    for (const std::vector<std::string>& row : shown) width = std::max(width, text_width(row[0]));
    for (std::vector<std::string>& row : shown) {
      row[0] = last_columns(row[0], std::max(least, width - excess));
    }
    return aligned(shown, kept);
  };
  std::string table = table_with(kReadableName);
  for (const std::string& name : least_important) {
    if (widest_line(table) <= columns) break;
    const auto at = std::ranges::find(rows[0], name) - rows[0].begin();
    for (std::vector<std::string>& row : rows) row.erase(row.begin() + at);
    if (at < static_cast<int64_t>(kept.left)) --kept.left;
    left_out += (left_out.empty() ? "" : ", ") + name;
    table = table_with(kReadableName);
  }
  if (widest_line(table) > columns) table = table_with(kShortestName);
  if (left_out.empty()) return table;
  return table + "left out, as it is too wide: " + left_out + "; --json FILE has all\n";
}

}  // namespace qkv
