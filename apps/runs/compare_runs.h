#pragma once

#include <string>

#include "apps/runs/run_summary.h"

namespace qkv {

// What differs between two runs: the keys of their configs, what came of them, and the first logged
// step whose losses differ. For a terminal, or as an object of JSON. A
// damaged run is compared as far as it can be read; the caller says why it is damaged.
std::string comparison_text(const RunSummary& a, const RunSummary& b);
std::string comparison_json(const RunSummary& a, const RunSummary& b);

}  // namespace qkv
