#pragma once

#include <string>
#include <vector>

#include "lessons/report/report.h"

namespace qkv {

// What the text, the page and the Markdown of a report say alike.
std::string sign_of(FindingResult result);       // ✓ ✗ – ?
std::string sign_of(ClaimVerdict verdict);       // ✓ ✗ – ? ≡ ○ ·
Text role_of(const Finding& finding);            // " (beyond the condition)", or nothing
Text result_name(FindingResult result);          // "agrees"
Text cited(const std::vector<Source>& sources);  // "Sources: Vaswani et al. 2017; …"
extern const Text kTimesDiffer;

}  // namespace qkv
