#pragma once

#include <span>

#include "cli/command_line.h"

namespace qkv {

// The verbs in apps/NAME/verbs, of the programs qkv-NAME. cmake/verbs_of_apps.cmake makes the list
// of the folders that are there, so that who trains compiles none of them.
std::span<const VerbElsewhere> verbs_of_apps();

}  // namespace qkv
