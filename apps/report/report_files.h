#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/report/report.h"

namespace qkv {

// Writes FOLDER/NAME.html, with links to the pages of write_overview_files, and FOLDER/NAME.json.
absl::Status write_report_files(const std::string& folder, const Report& report, Language language);
// Writes FOLDER/index.html, and FOLDER/note-A.html … of each lecture note.
absl::Status write_overview_files(const std::string& folder, const std::vector<Report>& reports,
                                  Language language);
// The names of all of them, of reports with these names.
std::vector<std::string> names_of_report_files(const std::vector<std::string>& reports);

}  // namespace qkv
