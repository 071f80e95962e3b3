#pragma once

#include <optional>
#include <string>

#include "train/config/config_fields.h"
#include "train/config/toml_parser.h"

namespace qkv {

struct WrongValue {
  std::string message;        // the rest of a sentence that begins with the key
  const toml::node* culprit;  // the value, or an element of it
};

// Gives the field that value, or says what is wrong with it and leaves the field as it was.
std::optional<WrongValue> set_field(const Field& field, const toml::node& value);

// Whether it is an array of strings alone, as a field that is_path may have.
bool is_list_of_texts(const toml::node& node);

}  // namespace qkv
