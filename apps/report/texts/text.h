#pragma once

#include <string>
#include <utility>

#include "framework/core/status.h"
#include "framework/core/text/names.h"

namespace qkv {

enum class Language { kEnglish, kChinese };
template <>
inline constexpr Named<Language> kNames<Language>[] = {{"en", Language::kEnglish},
                                                       {"zh", Language::kChinese}};

// An error is about the option --lang.
absl::StatusOr<Language> find_language(const std::string& name);

// A text in both languages of the lessons.
struct Text {
  Text() = default;
  Text(std::string english, std::string chinese) : en(std::move(english)), zh(std::move(chinese)) {}
  // The same text in both: a number, a formula, a name.
  Text(const std::string& both) : en(both), zh(both) {}  // NOLINT(google-explicit-constructor)
  Text(const char* both) : en(both), zh(both) {}         // NOLINT(google-explicit-constructor)

  const std::string& in(Language language) const {
    return language == Language::kChinese ? zh : en;
  }
  bool empty() const { return en.empty(); }
  bool operator==(const Text&) const = default;

  std::string en, zh;
};

// In both languages one behind the other.
Text operator+(const Text& a, const Text& b);
// The text with `value` in the place of each {name}.
Text filled_in(const Text& text, const std::string& name, const Text& value);

}  // namespace qkv
