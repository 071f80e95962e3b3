#pragma once

#include <string>
#include <vector>

#include "apps/report/report.h"

namespace qkv {

// What the text, the page and the Markdown of a report say alike.
std::string sign_of(FindingResult result);       // ✓ ✗ – ?
std::string sign_of(ClaimVerdict verdict);       // ✓ ✗ – ? ≡ ○ ·
Text with_role(const Finding& finding);          // "WHAT (beyond the condition)", "WHAT"
Text result_name(FindingResult result);          // "agrees"
Text cited(const std::vector<Source>& sources);  // "Sources: Vaswani et al. 2017; …"
Text times_differ();

}  // namespace qkv
