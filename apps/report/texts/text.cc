#include "apps/report/texts/text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace qkv {

absl::StatusOr<Language> find_language(const std::string& name) {
  if (const auto language = value_of<Language>(name)) return *language;
  return absl::InvalidArgumentError(absl::StrCat("--lang takes en or zh, not \"", name, "\""));
}

Text operator+(const Text& a, const Text& b) { return {a.en + b.en, a.zh + b.zh}; }

Text filled_in(const Text& text, const std::string& name, const Text& value) {
  const std::string place = absl::StrCat("{", name, "}");
  return {absl::StrReplaceAll(text.en, {{place, value.en}}),
          absl::StrReplaceAll(text.zh, {{place, value.zh}})};
}

}  // namespace qkv
