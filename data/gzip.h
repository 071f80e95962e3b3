#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace qkv {

bool is_gzipped(std::string_view bytes);

// The unpacked bytes, at most the first `max_bytes`. If these are all bytes, the checksum at the
// end of the data was compared. An error says what is wrong with the bytes: "its gzip data …".
absl::StatusOr<std::string> gunzip(std::string_view bytes, size_t max_bytes);

}  // namespace qkv
