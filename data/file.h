#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace qkv {

// The text of a file: valid UTF-8 and not empty, without a byte order mark, every line end "\n".
// Anything else is an error that names the file, and for bad UTF-8 the byte and the line.
absl::StatusOr<std::string> read_text(const std::string& path);

// 16 digits that tell a text from others, the same on every machine.
std::string fingerprint_of(std::string_view text);

}  // namespace qkv
