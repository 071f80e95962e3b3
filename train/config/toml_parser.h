#pragma once

#include <toml++/toml.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkv {

// What a parse that cannot throw found. The error is a line for the user, without its place.
struct ParsedToml {
  std::optional<toml::table> table;
  std::string error;
  toml::source_position position;  // of the error
};

// Refuses what is nested so deep that the parser's stack might overflow.
ParsedToml parse_toml(std::string_view text);

struct TomlMistake {
  std::string message;  // a line for the user, without its place
  toml::source_position position;
};

// Where lines are not TOML, what the other lines say. There is no table where a mistake may have
// changed what the lines after it mean, as that of a table's head does.
struct LinesOfToml {
  std::optional<toml::table> table;
  std::vector<TomlMistake> mistakes;
};
LinesOfToml parse_each_line(std::string_view text);

// A table of one entry, `value`: that text as a string. An error when it is not UTF-8.
ParsedToml string_as_toml(const std::string& text);

std::string type_of(const toml::node& node);  // "a string", "an array of 3"

}  // namespace qkv
