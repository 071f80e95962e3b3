#pragma once

#include "apps/report/report.h"

namespace qkv {

// How much of a report docs/lecture-notes.md has to tell as it is.
enum class Told {
  kAllButMeasured,  // what was measured is another number on another processor
  kClaims,          // it was asked with other options
};

// Fails where docs/lecture-notes.md, or its Chinese one, is older than the lab.
void expect_told_in_lecture_notes(const Report& report, Told told, Language language);

}  // namespace qkv
