#pragma once

#include "apps/labs/lab.h"

namespace qkv {

// Two layers that make their heads in the two ways learn to do what a third one does.
Section heads_split_trained_section(const LabContext& lab);

}  // namespace qkv
