#pragma once

#include <span>
#include <string>

#include "apps/shell/verb_table.h"

namespace qkv {

// qkv.1, for man: the verbs with their options, and the keys of configs.
std::string man_page(std::span<const VerbEntry> verbs);

}  // namespace qkv
