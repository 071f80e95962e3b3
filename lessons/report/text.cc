#include "lessons/report/text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace qkv {

Text operator+(const Text& a, const Text& b) { return {a.en + b.en, a.zh + b.zh}; }

Text filled_in(const Text& text, const std::string& name, const Text& value) {
  const std::string place = absl::StrCat("{", name, "}");
  return {absl::StrReplaceAll(text.en, {{place, value.en}}),
          absl::StrReplaceAll(text.zh, {{place, value.zh}})};
}

}  // namespace qkv
