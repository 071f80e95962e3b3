#pragma once

#include <span>

#include "cli/verb.h"

namespace qkv {

// The verbs of the book and of every app, in the order of `qkv --help`: a list that CMake makes of
// the folders that are there.
std::span<Verb (*const)()> all_verbs();

}  // namespace qkv
