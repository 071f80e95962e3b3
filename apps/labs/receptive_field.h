#pragma once

#include "apps/labs/lab.h"

// How far a convolution hears through its layers: sections of the lab influence.
namespace qkv {

Text layers_text(int64_t layers);  // "1 layer", "3 layers"

// How many states there are through which all must pass that the last of n tokens hears of the
// first in a recurrence.
int64_t states_between(int64_t n);

Section stacked_section(const LabContext& lab);
Section local_section(const LabContext& lab);
Section path_section(const LabContext& lab);

}  // namespace qkv
