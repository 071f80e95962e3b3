#include "cli/option_rules.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/verb.h"

namespace qkv {
namespace {

bool is_given(const GivenOptions& given, const std::string& name) {
  if (absl::ascii_isupper(name[0])) return !given.arguments().empty();
  const size_t equals = name.find('=');
  if (equals == std::string::npos) return given.has(name);
  const std::string option = name.substr(0, equals), value = name.substr(equals + 1);
  if (!given.has(option)) return false;
  if (value.starts_with('*')) return absl::EndsWithIgnoreCase(given.text(option), value.substr(1));
  double wanted = 0, found = 0;  // 0.0 is 0
  if (!absl::SimpleAtod(value, &wanted)) return given.text(option) == value;
  return absl::SimpleAtod(given.text(option), &found) && found == wanted;
}

std::string spelled(const std::string& name) {
  if (absl::ascii_isupper(name[0])) return name;
  return "--" + absl::StrReplaceAll(name, {{"=", " "}});
}

}  // namespace

void OptionRules::exclude(const Names& these, const Names& others, const std::string& why,
                          const Names& unless) {
  if (others.empty() && unless.empty()) return;
  for (const std::string& name : these) rules_.push_back({name, why, others, unless});
}

absl::Status OptionRules::check(const GivenOptions& given) const {
  const auto is_there = [&](const std::string& name) { return is_given(given, name); };
  const auto mistake = [](const auto&... words) {
    return absl::InvalidArgumentError(absl::StrCat(words...));
  };
  for (const std::string& name : given.options()) {
    if (given.count(name) == 1 || repeats(name)) continue;
    return mistake("--", name, " is given ", given.count(name), " times; give it once");
  }
  for (const auto& [name, values] : allowed_) {
    if (!given.has(name) || std::ranges::count(values, given.text(name)) > 0) continue;
    return mistake("--", name, ": there is no \"", given.text(name), "\"; there are ",
                   absl::StrJoin(values, ", "));
  }
  for (const auto& [name, why, others, unless] : rules_) {
    const auto other = std::ranges::find_if(others, is_there);
    const bool breaks = is_there(name) && (others.empty() || other != others.end());
    if (!breaks || std::ranges::any_of(unless, is_there)) continue;
    std::vector<std::string> needed;
    for (const std::string& each : unless) needed.push_back(spelled(each));
    const std::string needs = absl::StrCat(" needs ", absl::StrJoin(needed, " or "));
    const std::string because = why.empty() ? "" : ": " + why;
    if (others.empty()) return mistake(spelled(name), needs);
    if (!unless.empty()) return mistake(spelled(name), " beside ", spelled(*other), needs, because);
    return mistake(spelled(name), " and ", spelled(*other), " exclude each other", because);
  }
  return absl::OkStatus();
}

}  // namespace qkv
