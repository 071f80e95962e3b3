#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace qkv {

bool is_gzipped(std::string_view bytes);

// What was packed, of which no more than the first `max_bytes` are unpacked. Where that is all, the
// checksum at its end was compared. An error says what is wrong with the bytes: "its gzip data …".
absl::StatusOr<std::string> gunzip(std::string_view bytes, size_t max_bytes);

}  // namespace qkv
