#pragma once

#include <span>
#include <string>

#include "apps/shell/verb_table.h"

namespace qkv {

// Scripts that complete verbs, options, config keys, run folders and files. Each is read by its
// shell when it starts (docs/installing.md).
std::string bash_completion(std::span<const VerbEntry> verbs);
std::string zsh_completion(std::span<const VerbEntry> verbs);
std::string fish_completion(std::span<const VerbEntry> verbs);

}  // namespace qkv
