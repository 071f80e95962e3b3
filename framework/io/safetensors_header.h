#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "framework/io/safetensors.h"

namespace qkv {

// The one name in a header that is not a tensor's.
inline constexpr char kMetadata[] = "__metadata__";
inline constexpr char kHalf[] = "F16";

// The JSON of a safetensors header into its entries, sorted by their bytes. Knows nothing of the
// file: data_start and file_bytes stay 0, and the entries are not compared with each other. Errors
// have no file name yet.
absl::StatusOr<TensorFileHeader> parse_safetensors_header(std::string_view json);

// The JSON of a header, without padding. Fails on a name used twice and on text that is not UTF-8.
absl::StatusOr<std::string> safetensors_header_json(const TensorFileHeader& header);

const char* name_of_type(DType dtype);  // "F32"

// A tensor's name for a message: in quotes, escaped, cut short.
std::string in_quotes(const std::string& name);

}  // namespace qkv
