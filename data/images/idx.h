#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/core/status.h"

namespace qkv {

bool is_gzipped(std::string_view bytes);

// The unpacked bytes, at most the first `max_bytes`. If these are all bytes, the checksum at the
// end of the data was compared. An error says what is wrong with the bytes: "its gzip data …".
absl::StatusOr<std::string> gunzip(std::string_view bytes, size_t max_bytes);

// The format of MNIST's files: 00 00 TYPE DIMENSIONS, the size of each dimension in 4 bytes, the
// most significant first, and then the numbers. Those of images and labels are unsigned bytes.
struct IdxArray {
  std::vector<int64_t> sizes;  // the first: how many examples
  std::string bytes;           // as many as the product of the sizes, which is not 0
};

// The numbers of a file, gzipped or not, of `dimensions` dimensions. An error says what is wrong
// with it: "is truncated: …".
absl::StatusOr<IdxArray> parse_idx(std::string_view file, size_t dimensions);

// The error begins with the path.
absl::StatusOr<IdxArray> read_idx(const std::string& path, size_t dimensions);

}  // namespace qkv
