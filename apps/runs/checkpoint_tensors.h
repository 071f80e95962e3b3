#pragma once

#include <string>

#include "framework/io/safetensors.h"

namespace qkv {

// A table of the tensors of a file by what they are, with their sizes; the tensors of each group,
// the metadata. Not `all`: of a large group or an optimizer only tensors with numbers that are not
// finite; a line of each entry.
std::string describe_tensors(const TensorFile& file, bool all);

}  // namespace qkv
