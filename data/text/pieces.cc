#include "data/text/pieces.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "framework/core/text/utf8.h"

namespace qkv {
namespace {

enum class Class : unsigned char { kSpace, kLetter, kNumber, kOther };

struct Character {
  Class is;
  size_t length;  // bytes
};

constexpr std::array<Class, 128> kAscii = [] {
  std::array<Class, 128> classes{};
  for (size_t c = 0; c < 128; ++c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_space = c == ' ' || (c >= '\t' && c <= '\r');
    classes[c] = is_letter              ? Class::kLetter
                 : is_space             ? Class::kSpace
                 : c >= '0' && c <= '9' ? Class::kNumber
                                        : Class::kOther;
  }
  return classes;
}();

Class class_of(utf8proc_int32_t code_point) {
  constexpr utf8proc_int32_t kNextLine = 0x85;
  switch (utf8proc_category(code_point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return Class::kLetter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return Class::kNumber;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return Class::kSpace;
    default:
      return code_point == kNextLine ? Class::kSpace : Class::kOther;
  }
}

// The character at text[place].
Character character_at(std::string_view text, size_t place) {
  const auto byte = static_cast<unsigned char>(text[place]);
  if (byte < 0x80) return {kAscii[byte], 1};
  utf8proc_int32_t code_point = 0;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data() + place);
  const auto left = static_cast<utf8proc_ssize_t>(std::min<size_t>(text.size() - place, 4));
  const utf8proc_ssize_t length = utf8proc_iterate(bytes, left, &code_point);
  if (length <= 0) return {Class::kOther, 1};
  return {class_of(code_point), static_cast<size_t>(length)};
}

// Where the characters of the class that begin at text[place] end.
size_t end_of_run(std::string_view text, size_t place, Class wanted) {
  while (place < text.size()) {
    const auto [is, length] = character_at(text, place);
    if (is != wanted) break;
    place += length;
  }
  return place;
}

// Length of 's, 't, 're, 've, 'm, 'll or 'd at the front of `text`; 0: none.
size_t contraction_length(std::string_view text) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  if (std::string_view("stmd").find(text[1]) != std::string_view::npos) return 2;
  const std::string_view two = text.substr(1, 2);
  return two == "re" || two == "ve" || two == "ll" ? 3 : 0;
}

size_t white_space_length(std::string_view text) {
  size_t end = 0, last = 0;
  while (end < text.size()) {
    const auto [is, length] = character_at(text, end);
    if (is != Class::kSpace) break;
    last = end;
    end += length;
  }
  // The last one belongs to the next piece.
  return end == text.size() || last == 0 ? end : last;
}

bool ends_in_space(std::string_view text) {
  if (text.empty()) return true;
  size_t begin = text.size() - 1;
  while (begin > 0 && text.size() - begin < 4 && (text[begin] & 0xC0) == 0x80) --begin;
  return character_at(text, begin).is == Class::kSpace;
}

// The last place where a piece certainly begins: white space stands in a piece after nothing but
// white space. 0: none.
size_t last_sure_begin(std::string_view text) {
  for (size_t place = text.size(); place-- > 0;) {
    const auto byte = static_cast<unsigned char>(text[place]);
    if (byte < 0x80 && kAscii[byte] == Class::kSpace && !ends_in_space(text.substr(0, place))) {
      return place;
    }
  }
  return 0;
}

}  // namespace

size_t piece_length(std::string_view text) {
  if (text.empty()) return 0;
  if (const size_t length = contraction_length(text); length > 0) return length;
  const Class first = character_at(text, 0).is;
  if (first != Class::kSpace) return end_of_run(text, 0, first);
  if (text[0] == ' ' && text.size() > 1) {
    const Class second = character_at(text, 1).is;
    if (second != Class::kSpace) return end_of_run(text, 1, second);
  }
  return white_space_length(text);
}

size_t length_of_sure_pieces(std::string_view text) {
  text.remove_suffix(unfinished_length(text));
  std::vector<std::string_view> pieces;
  const size_t begin = last_sure_begin(text);
  for (std::string_view rest = text.substr(begin); !rest.empty();) {
    pieces.push_back(rest.substr(0, piece_length(rest)));
    rest.remove_prefix(pieces.back().size());
  }
  if (pieces.empty()) return begin;
  const auto last = [&] { return pieces.back(); };
  const auto is_before_last = [&](auto is) {
    return pieces.size() > 1 && is(pieces[pieces.size() - 2]);
  };
  // The following text may lengthen the last piece, and make a contraction of "'" and "r".
  const bool may_contract = last() == "r" || last() == "v" || last() == "l";
  pieces.pop_back();
  if (may_contract && !pieces.empty() && last() == "'") pieces.pop_back();
  // At the end of a text two pieces of white space are one.
  if (!pieces.empty() && ends_in_space(last()) && is_before_last(ends_in_space)) pieces.pop_back();
  size_t length = begin;
  for (const std::string_view piece : pieces) length += piece.size();
  return length;
}

}  // namespace qkv
