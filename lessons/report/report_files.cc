#include "lessons/report/report_files.h"

#include "absl/strings/str_cat.h"
#include "framework/io/files.h"

namespace qkv {

absl::Status write_report_files(const std::string& folder, const Report& report,
                                Language language) {
  const std::string path = absl::StrCat(folder, "/", report.name);
  const std::string page = report_page(report, language, /*beside_index=*/true);
  if (absl::Status s = write_file_atomically(path + ".html", page); !s.ok()) return s;
  return write_file_atomically(path + ".json", report_json(report, language));
}

}  // namespace qkv
