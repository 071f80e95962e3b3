#pragma once

#include <string>

#include "apps/check/findings.h"

namespace qkv {

// HTML that needs nothing else, with all that was found: first what did not pass, then a table of
// the functions, each with its examples, its V curve and a Taylor remainder, then the mistakes that
// were planted and what caught them.
std::string gradcheck_page(const GradcheckFindings& findings);

}  // namespace qkv
