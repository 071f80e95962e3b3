#include "train/config/toml_text.h"

#include <charconv>

#include "absl/strings/str_format.h"

namespace qkv {

std::string float_to_toml(double value) {
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, result.ptr);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";  // e: 1e-05; n: inf, nan
  return text;
}

std::string string_to_toml(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '\t') {
      text += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppendFormat(&text, "\\u%04X", byte);
    } else {
      text += c;
    }
  }
  return text + "\"";
}

}  // namespace qkv
