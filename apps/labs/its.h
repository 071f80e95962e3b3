#pragma once

#include <vector>

#include "apps/labs/lab.h"

namespace qkv {

// The sections of the lab more that ask what the word "its" takes in.
std::vector<Section> its_sections(const LabContext& lab);

}  // namespace qkv
