#include "apps/exchange/c_template.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "framework/core/error.h"

namespace qkv {
namespace {

std::string with_words(std::string line, const std::map<std::string, std::string>& words) {
  for (size_t at = line.find('@'); at != std::string::npos; at = line.find('@', at)) {
    const size_t end = line.find('@', at + 1);
    const auto word = words.find(line.substr(at + 1, end - at - 1));
    if (end == std::string::npos || word == words.end()) fail("template: no such word: " + line);
    line.replace(at, end + 1 - at, word->second);
    at += word->second.size();
  }
  return line;
}

bool holds(absl::string_view conditions, const std::set<std::string>& facts) {
  const std::vector<std::string> any = absl::StrSplit(conditions, ' ');
  return std::ranges::any_of(any, [&](const std::string& fact) {
    return fact.starts_with('!') ? !facts.contains(fact.substr(1)) : facts.contains(fact);
  });
}

}  // namespace

std::string filled_template(const std::string& text, const TemplateValues& values) {
  std::string filled;
  std::vector<bool> stays = {true};
  const std::vector<std::string> lines = absl::StrSplit(absl::StripSuffix(text, "\n"), '\n');
  for (const std::string& line : lines) {
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "//? ")) {
      stays.push_back(stays.back() && holds(rest, values.facts));
    } else if (line == "//.") {
      stays.pop_back();
      if (stays.empty()) fail("template: an end without a beginning");
    } else if (absl::ConsumePrefix(&rest, "//= ")) {
      const auto part = values.parts.find(std::string(rest));
      if (part == values.parts.end()) fail("template: no such part: " + line);
      if (stays.back()) filled += part->second;
    } else if (stays.back()) {
      absl::StrAppend(&filled, with_words(line, values.words), "\n");
    }
  }
  if (stays.size() != 1) fail("template: a beginning without an end");
  return filled;
}

}  // namespace qkv
