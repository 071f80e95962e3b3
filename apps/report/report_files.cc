#include "apps/report/report_files.h"

#include "absl/strings/str_cat.h"
#include "apps/report/notes.h"
#include "framework/io/files.h"

namespace qkv {

absl::Status write_report_files(const std::string& folder, const Report& report,
                                Language language) {
  const std::string path = absl::StrCat(folder, "/", report.name);
  const std::string page = report_page(report, language, /*beside_index=*/true);
  if (absl::Status s = write_file_atomically(path + ".html", page); !s.ok()) return s;
  return write_file_atomically(path + ".json", report_json(report, language));
}

absl::Status write_overview_files(const std::string& folder, const std::vector<Report>& reports,
                                  Language language) {
  for (const Note& note : kLectureNotes) {
    absl::Status s = write_file_atomically(absl::StrCat(folder, "/", file_of_note(note.letter)),
                                           note_page(reports, note.letter, language));
    if (!s.ok()) return s;
  }
  return write_file_atomically(folder + "/index.html", index_page(reports, language));
}

std::vector<std::string> names_of_report_files(const std::vector<std::string>& reports) {
  std::vector<std::string> names = {"index.html"};
  for (const Note& note : kLectureNotes) names.push_back(file_of_note(note.letter));
  for (const std::string& report : reports) {
    names.insert(names.end(), {report + ".html", report + ".json"});
  }
  return names;
}

}  // namespace qkv
