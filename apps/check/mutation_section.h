#pragma once

#include <string>

#include "apps/check/mutation/mutation.h"

namespace qkv {

// HTML: functions by kinds of mistakes, caught/planted; the equivalents with their reasons; how
// each was caught.
std::string mutation_section(const MutationReport& report);

// HTML, a list of those that nothing caught; "" where there is none.
std::string survivors_of(const MutationReport& report);

}  // namespace qkv
