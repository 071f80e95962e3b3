#pragma once

#include <string>

#include "apps/check/findings.h"

namespace qkv {

// HTML: what each method says of each input, the elements that are most wrong, and all notes.
// `heading`: above it.
std::string html_of(const CheckedExample& example, const std::string& heading);

}  // namespace qkv
