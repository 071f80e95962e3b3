#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace qkv {

// The text of a file: valid UTF-8 and not empty, without a byte order mark, every line end "\n".
// Anything else is an error that names the file, and for bad UTF-8 the byte and the line.
absl::StatusOr<std::string> read_text(const std::string& path);

}  // namespace qkv
