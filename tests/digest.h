#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace qkv {

// Texts that are compared with those of another day and another processor, which decides the last
// digits of numbers.
struct NumbersOfText {
  std::string words;  // the text with a # for each
  std::vector<std::string> numbers;
};

inline NumbersOfText numbers_of(const std::string& text) {
  static const std::regex kNumber(R"(-?\d+(\.\d+)?([eE][-+]?\d+)?)");
  NumbersOfText result;
  size_t end = 0;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), kNumber);
       at != std::sregex_iterator(); ++at) {
    absl::StrAppend(&result.words, text.substr(end, at->position() - end), "#");
    result.numbers.push_back(at->str());
    end = at->position() + at->length();
  }
  result.words += text.substr(end);
  return result;
}

inline double value_of(const std::string& number) {
  double value = 0;
  return absl::SimpleAtod(number, &value) ? value : NAN;
}

// One of the last digit that is printed.
inline double unit_of(std::string number) {
  const size_t end = std::min(number.find_first_of("eE"), number.size());
  std::replace_if(number.begin(), number.begin() + end, absl::ascii_isdigit, '0');
  number[end - 1] = '1';
  return std::abs(value_of(number));
}

// A processor decides the last digits of what is not whole, and all of a rounding.
inline bool is_same_number(const std::string& now, const std::string& then) {
  const auto is_whole = [](const std::string& number) {
    return number.find_first_of(".eE") == std::string::npos;
  };
  if (is_whole(now) && is_whole(then)) return now == then;
  const double a = value_of(now), b = value_of(then);
  if (std::abs(a) < 1e-9 && std::abs(b) < 1e-9) return true;
  return std::abs(a - b) <= 1.01 * unit_of(is_whole(then) ? now : then) + 1e-3 * std::abs(b);
}

inline bool is_same_line(const std::string& now, const std::string& then) {
  const NumbersOfText a = numbers_of(now), b = numbers_of(then);
  // Where a number has another length, what aligns it has another, too.
  const auto words = [](const std::string& text) {
    return absl::StrJoin(absl::StrSplit(text, ' ', absl::SkipEmpty()), " ");
  };
  return (now.size() == then.size() ? a.words == b.words : words(a.words) == words(b.words)) &&
         std::ranges::equal(a.numbers, b.numbers, is_same_number);
}

// Without what a page has from its modules and styles, and the policy that names their digests.
inline std::string without_scripts(std::string text) {
  for (const auto& [begin, end] : {std::pair("<script", "</script"), std::pair("<style", "</style"),
                                   std::pair("<meta", ">")}) {
    for (size_t at = 0; (at = text.find(begin, at)) != std::string::npos;) {
      text.erase(at, std::min(text.find(end, at), text.size()) - at);
    }
  }
  return text;
}

// What stands for a long text: its words, however its lines are folded, and the sum of its numbers,
// in which each has a weight of its own.
inline std::string digest_of(const std::string& text) {
  const NumbersOfText found = numbers_of(without_scripts(text));
  uint32_t hash = 2166136261;
  for (const absl::string_view word :
       absl::StrSplit(found.words, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    for (const unsigned char c : word) hash = (hash ^ c) * 16777619;
  }
  std::string words;
  for (; hash > 0; hash /= 26) words += static_cast<char>('a' + hash % 26);
  double sum = 0;
  for (size_t i = 0; i < found.numbers.size(); ++i) {
    const double value = value_of(found.numbers[i]);
    if (std::abs(value) > 1e-9 && std::abs(value) < 1e9)
      sum += value * std::cos(static_cast<double>(i));
  }
  return absl::StrFormat("words %s, %d numbers, %.2f", words, found.numbers.size(), sum);
}

}  // namespace qkv
