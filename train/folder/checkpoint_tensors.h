#pragma once

#include <string>
#include <vector>

#include "framework/io/safetensors.h"

namespace qkv {

// The tensors of a file by what they are: those of the model, the state of the optimizer by its
// kind, the rest. Of a file that is no checkpoint of qkv all are in one group.
struct TensorGroup {
  std::string name;     // "model", "optimizer: first moments"
  std::string meaning;  // ", running means of the gradients"
  std::vector<const NamedArray*> tensors;
};
std::vector<TensorGroup> groups_of_tensors(const TensorFile& file);

// A table of the groups with their sizes; the tensors of each, the metadata. Not `all`: of a large
// group or an optimizer only tensors with numbers that are not finite; a line of each entry.
std::string describe_tensors(const TensorFile& file, bool all);

}  // namespace qkv
