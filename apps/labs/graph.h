#pragma once

#include "apps/labs/lab.h"

namespace qkv {

// The section of the lab patches that attends to the nodes of a graph.
Section graph_section(const LabContext& lab);

}  // namespace qkv
