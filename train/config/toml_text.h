#pragma once

#include <string>

namespace qkv {

// Shortest text that reads back as the same number, and as a float in TOML: "0.001", "3.0".
std::string float_to_toml(double value);
std::string string_to_toml(const std::string& value);  // in quotes, escaped

}  // namespace qkv
