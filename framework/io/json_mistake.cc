#include "framework/io/json_mistake.h"

#include <nlohmann/json.hpp>
#include <regex>

#include "absl/strings/str_cat.h"

namespace qkv {

//   [json.exception.parse_error.101] parse error at line 1, column 8: syntax error while parsing
//   value - invalid literal; last read: '"a": N'
std::string json_reason(const std::string& what) {
  static const std::regex parts(R"(\[[^\]]*\] (?:parse error at ([^:]*): )?(?:syntax[a-z ]* - )?)");
  std::smatch found;
  if (!std::regex_search(what, found, parts)) return what;
  const std::string reason = found.suffix(), place = found[1];
  return absl::StrCat(place.empty() ? "" : absl::StrCat("at ", place, ": "),
                      reason.substr(0, reason.find("; last read")));
}

std::string json_mistake(std::string_view text) {
  try {
    [[maybe_unused]] const auto parsed = nlohmann::json::parse(text);
    return "";
  } catch (const nlohmann::json::exception& error) {
    return json_reason(error.what());
  }
}

}  // namespace qkv
