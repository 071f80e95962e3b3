#pragma once

#include <string>

#include "absl/status/status.h"
#include "lessons/report/report.h"

namespace qkv {

// Writes FOLDER/NAME.html, with a link to the index beside it, and FOLDER/NAME.json.
absl::Status write_report_files(const std::string& folder, const Report& report, Language language);

}  // namespace qkv
