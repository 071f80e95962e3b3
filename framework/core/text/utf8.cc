#include "framework/core/text/utf8.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace qkv {

size_t code_point_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };

  const uint32_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC0 || first >= 0xF8 || text.size() < length) return 0;

  uint32_t code_point = first & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code_point = code_point << 6 | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  return code_point < kSmallest[length] || surrogate || code_point > 0x10FFFF ? 0 : length;
}

namespace {

// Those of Unicode's property Bidi_Control, which reverse the order of the characters shown:
// U+061C, U+200E, U+200F, U+202A … U+202E, U+2066 … U+2069.
bool is_bidirectional_control(std::string_view code_point) {
  if (code_point == "\u061C") return true;
  if (code_point.size() != 3 || !code_point.starts_with("\xE2")) return false;
  const auto second = static_cast<unsigned char>(code_point[1]);
  const auto third = static_cast<unsigned char>(code_point[2]);
  if (second == 0x81) return third >= 0xA6 && third <= 0xA9;
  return second == 0x80 && (third == 0x8E || third == 0x8F || (third >= 0xAA && third <= 0xAE));
}

// `part` is one code point, or one byte that is not UTF-8.
bool is_obeyed_by_terminals(std::string_view part) {
  const auto first = static_cast<unsigned char>(part[0]);
  if (first < 0x20 || first == 0x7F) return true;
  // U+0080 … U+009F are control characters of two bytes.
  if (first == 0xC2) return part.size() == 1 || static_cast<unsigned char>(part[1]) < 0xA0;
  return is_bidirectional_control(part);
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (const size_t length = code_point_length(text)) text.remove_prefix(length);
  return text.empty();
}

size_t unfinished_length(std::string_view text) {
  for (size_t length = 1; length <= std::min<size_t>(3, text.size()); ++length) {
    const auto byte = static_cast<unsigned char>(text[text.size() - length]);
    if (byte < 0x80 || byte >= 0xF8) return 0;
    if (byte < 0xC0) continue;  // not its first byte
    const size_t whole = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return length < whole ? length : 0;
  }
  return 0;
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const size_t length = code_point_length(text);
    const std::string_view part = text.substr(0, length == 0 ? 1 : length);
    if (part == "\n") {
      shown += "\\n";
    } else if (part == "\t") {
      shown += "\\t";
    } else if (length == 0 || is_obeyed_by_terminals(part)) {
      for (const char c : part)
        absl::StrAppendFormat(&shown, "\\x%02X", static_cast<unsigned char>(c));
    } else {
      shown += part;
    }
    text.remove_prefix(part.size());
  }
  return shown;
}

std::string printable_lines(std::string_view text) {
  std::string shown;
  while (true) {
    const size_t end = text.find_first_of("\n\t");
    shown += printable(text.substr(0, end));
    if (end == std::string_view::npos) return shown;
    shown += text[end];
    text.remove_prefix(end + 1);
  }
}

std::string escape(std::string_view text) {
  return printable(absl::StrReplaceAll(std::string(text), {{"\\", "\\\\"}}));
}

}  // namespace qkv
