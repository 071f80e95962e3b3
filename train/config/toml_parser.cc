#include "train/config/toml_parser.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace qkv {
namespace {

// Tables nest in dotted keys, and the parser's depth with them: no line needs more than a few dots.
uint32_t line_with_too_many_dots(std::string_view text) {
  constexpr size_t kMaxDots = 1000;
  uint32_t line = 1;
  size_t dots = 0;
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      dots = 0;
    } else if (c == '.' && ++dots > kMaxDots) {
      return line;
    }
  }
  return 0;
}

std::string explain(const toml::parse_error& error) {
  absl::string_view description(error.description().data(), error.description().size());
  absl::string_view doing;
  if (absl::ConsumePrefix(&description, "Error while parsing ")) {
    const size_t end = std::min(description.find(": "), description.size());
    doing = description.substr(0, end);
    description.remove_prefix(std::min(end + 2, description.size()));
  }
  return absl::StrCat(
      "not valid TOML: ", description, doing.empty() ? "" : absl::StrCat(" (in a ", doing, ")"),
      description == "could not determine value type" ? "; a string needs quotes" : "");
}

ParsedToml parse(std::string_view text) {
  ParsedToml parsed;
  try {
    parsed.table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    parsed.error = explain(error);
    parsed.position = error.source().begin;
  }
  return parsed;
}

// Whether the line is a mistake by itself, not by the lines before it: then it is one alone, too.
bool is_wrong_by_itself(std::string_view line) {
  const size_t start = line.find_first_not_of(" \t");
  return start != std::string_view::npos && line[start] != '[' &&
         line.find('=') != std::string_view::npos && !parse_toml(line).table;
}

}  // namespace

LinesOfToml parse_each_line(std::string_view text) {
  constexpr size_t kMostMistakes = 20;
  LinesOfToml found;
  std::string rest(text);
  while (found.mistakes.size() < kMostMistakes) {
    ParsedToml parsed = parse_toml(rest);
    if (parsed.table) {
      found.table = std::move(parsed.table);
      break;
    }
    found.mistakes.push_back({parsed.error, parsed.position});
    size_t start = 0;
    for (uint32_t line = 1; line < parsed.position.line && start < rest.size(); ++line) {
      start = std::min(rest.find('\n', start), rest.size() - 1) + 1;
    }
    const size_t end = std::min(rest.find('\n', start), rest.size());
    if (!is_wrong_by_itself(std::string_view(rest).substr(start, end - start))) break;
    std::fill(rest.begin() + start, rest.begin() + end, ' ');
  }
  return found;
}

ParsedToml parse_toml(std::string_view text) {
  const uint32_t line = line_with_too_many_dots(text);
  if (line == 0) return parse(text);
  return {.table = {}, .error = "too many dots for a config", .position = {line, 1}};
}

ParsedToml string_as_toml(const std::string& text) {
  return parse(absl::StrCat("value = ", string_to_toml(text)));
}

std::string type_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return absl::StrCat("an array of ", node.as_array()->size());
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a float";
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "a date or time";
  }
}

}  // namespace qkv
