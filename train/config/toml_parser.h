#pragma once

#include <toml++/toml.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/config/config_fields.h"

namespace qkv {

// The result of a parse that cannot throw. The error is a line for the user, without its place.
struct ParsedToml {
  std::optional<toml::table> table;
  std::string error;
  toml::source_position position;  // of the error
};

// Refuses nesting so deep that the parser's stack might overflow.
ParsedToml parse_toml(std::string_view text);

struct TomlMistake {
  std::string message;  // a line for the user, without its place
  toml::source_position position;
};

// Where lines are not TOML, what the other lines say. No table where a mistake, as in a table's
// head, may have changed the meaning of the lines after it.
struct LinesOfToml {
  std::optional<toml::table> table;
  std::vector<TomlMistake> mistakes;
};
LinesOfToml parse_each_line(std::string_view text);

// A table of one entry, `value`: that text as a string. An error when it is not UTF-8.
ParsedToml string_as_toml(const std::string& text);

std::string type_of(const toml::node& node);  // "a string", "an array of 3"

struct WrongValue {
  std::string message;        // the rest of a sentence that begins with the key
  const toml::node* culprit;  // the value, or an element of it
};

// Gives the field that value, or says what is wrong with it and leaves the field as it was.
std::optional<WrongValue> set_field(const Field& field, const toml::node& value);

// Whether it is an array of strings alone, as a field that is_path may have.
bool is_list_of_texts(const toml::node& node);

}  // namespace qkv
