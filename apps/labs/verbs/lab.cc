#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "apps/labs/catalogue.h"
#include "apps/labs/kit/lab_texts.h"
#include "apps/labs/own_note.h"
#include "apps/report/report.h"
#include "apps/report/writers/notes.h"
#include "cli/kit.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

// Writes FOLDER/NAME.html, with links to the pages of write_overview_files, and FOLDER/NAME.json.
absl::Status write_report_files(const std::string& folder, const Report& report, Language language,
                                bool beside_index = true) {
  const std::string path = absl::StrCat(folder, "/", report.name);
  const std::string page = report_page(report, language, beside_index);
  if (absl::Status s = write_file_atomically(path + ".html", page); !s.ok()) return s;
  return write_file_atomically(path + ".json", report_json(report, language));
}

// Writes FOLDER/index.html, and FOLDER/note-A.html … of each lecture note.
absl::Status write_overview_files(const std::string& folder, const std::vector<Report>& reports,
                                  Language language) {
  for (const Note& note : kLectureNotes) {
    absl::Status s = write_file_atomically(absl::StrCat(folder, "/", file_of_note(note.letter)),
                                           note_page(reports, note.letter, language));
    if (!s.ok()) return s;
  }
  return write_file_atomically(folder + "/index.html",
                               index_page(reports, definitions(), language));
}

// The names of all of them, of reports with these names.
std::vector<std::string> names_of_report_files(const std::vector<std::string>& reports) {
  std::vector<std::string> names = {"index.html"};
  for (const Note& note : kLectureNotes) names.push_back(file_of_note(note.letter));
  for (const std::string& report : reports) {
    names.insert(names.end(), {report + ".html", report + ".json"});
  }
  return names;
}

void add_lab_options(OptionList& options) {
  const auto does = [](const char* option) { return option_of_verb(option).en; };
  options.flag("all", does("all"));
  options.flag("control", does("control"));
  options.json("the report");
  options.text("out", "FILE", does("out"));
  options.text("note", "FILE", does("note"));
  options.text("notes", "FILE", does("notes"));
  options.text("lang", "en|zh", does("lang"), "en");
  options.one_of("lang", names_of<Language>);
  options.text("runs", "DIR", does("runs"), "runs/lab");
  options.choices("", names_of_labs);
  for (const std::string& name : names_of_lab_options()) options.unlisted_text(name);
  options.rules().exclude({"all"}, {"NAME"}, "--all runs every lab");
  options.rules().exclude({"all"}, {"json"}, "for all labs use --out DIR");
  options.rules().need({"notes"}, "all");
  options.rules().exclude({"note"}, {"all", "NAME", "json", "control"});
  options.rules().need({"note"}, "out");
}

absl::StatusOr<Report> report_of(const Lab& lab, const OptionTexts& options,
                                 const GivenOptions& given, const std::string& place = "") {
  ProgressLine progress(stderr);
  return run_lab(lab, options, given.has("control"), given.text("runs"),
                 [&](const std::string& what) { progress.show(place + what); });
}

absl::StatusOr<std::string> more_help(const std::string& name, const GivenOptions& given) {
  const absl::StatusOr<Language> language = find_language(given.text("lang"));
  if (!language.ok()) return language.status();
  if (name.empty()) return help_on_labs(*language);
  const absl::StatusOr<Lab> lab = find_lab(name);
  if (!lab.ok()) return lab.status();
  return help_on(*lab, *language);
}

absl::Status run_one(const std::string& name, const GivenOptions& given, Language language) {
  const absl::StatusOr<Lab> lab = find_lab(name);
  if (!lab.ok()) return lab.status();
  const bool trains = std::ranges::count(lab->options, "steps", &LabOption::name) > 0;
  absl::Status s = reject({{!trains && given.has("runs"), "--runs: this lab trains no model"}});
  if (!s.ok()) return s;
  const OutputFile files[] = {{"out", given.text("out"), kBeginningOfPage},
                              {"json", json_file(given), "{\n  \"lab\": "}};
  if (s = check_outputs(files); !s.ok()) return s;
  const absl::StatusOr<Report> report =
      report_of(*lab, given.texts_of(names_of_lab_options()), given);
  if (!report.ok()) return report.status();
  if (!prints_json(given)) show(report_text(*report, language));
  if (s = write_if_asked(given.text("out"), report_page(*report, language)); !s.ok()) return s;
  return write_json(given, report_json(*report, language));
}

// Makes the folder of the pages.
absl::Status prepare_targets(const std::string& folder, const std::string& notes) {
  std::vector<OutputFile> files = {{"notes", notes, "<!-- Made by ./qkv lab --all"}};
  if (!folder.empty()) {
    if (absl::Status s = make_folder(folder); !s.ok()) return s;
    for (const std::string& name : names_of_report_files(names_of_labs())) {
      const bool is_page = name.ends_with(".html");
      files.push_back(
          {"out", absl::StrCat(folder, "/", name), is_page ? kBeginningOfPage : "{\n  \"lab\": "});
    }
  }
  return check_outputs(files);
}

absl::Status run_all(const GivenOptions& given, Language language) {
  const OptionTexts options = given.texts_of(names_of_lab_options());
  const std::string folder = given.text("out"), notes = given.text("notes");
  absl::Status s = check_for_all_labs(options);
  if (!s.ok()) return s;
  if (s = prepare_targets(folder, notes); !s.ok()) return s;
  std::vector<Report> reports;
  const std::vector<Lab> labs = all_labs();
  for (const Lab& lab : labs) {
    const std::string place = absl::StrCat("lab ", reports.size() + 1, " of ", labs.size(), ": ");
    absl::StatusOr<Report> report = report_of(lab, taken_by(lab, options), given, place);
    if (!report.ok()) return report.status();
    show(report_verdicts(*report, language));
    s = folder.empty() ? absl::OkStatus() : write_report_files(folder, *report, language);
    if (!s.ok()) return s;
    reports.push_back(*std::move(report));
  }
  s = folder.empty() ? absl::OkStatus() : write_overview_files(folder, reports, language);
  return s.ok() ? write_if_asked(notes, lecture_notes(reports, definitions(), language)) : s;
}

// The labs of the marks, each once; and the page of the note beside theirs.
absl::Status run_own_note(const GivenOptions& given, Language language) {
  const OptionTexts options = given.texts_of(names_of_lab_options());
  const std::string folder = given.text("out"), note = given.text("note");
  const absl::StatusOr<std::vector<NotePart>> parts = read_own_note(note);
  if (!parts.ok()) return parts.status();
  absl::Status s = check_for_all_labs(options);
  if (!s.ok()) return s;
  if (s = prepare_targets(folder, ""); !s.ok()) return s;
  std::vector<Report> reports;
  for (const NotePart& part : *parts) {
    if (part.lab.empty() || std::ranges::count(reports, part.lab, &Report::name) > 0) continue;
    const absl::StatusOr<Lab> lab = find_lab(part.lab);
    absl::StatusOr<Report> report = report_of(*lab, taken_by(*lab, options), given);
    if (!report.ok()) return report.status();
    s = write_report_files(folder, *report, language, /*beside_index=*/false);
    if (!s.ok()) return s;
    reports.push_back(*std::move(report));
  }
  const std::string name = note.substr(note.rfind('/') + 1);
  return write_file_atomically(folder + "/index.html",
                               own_note_page(name, *parts, reports, language));
}

absl::Status run_lab_verb(const std::string& name, const GivenOptions& given) {
  const auto language = given.value<Language>("lang");
  if (given.has("all")) return run_all(given, language);
  if (given.has("note")) return run_own_note(given, language);
  if (!name.empty()) return run_one(name, given, language);
  for (const std::string& option : given.options()) {
    if (option == "lang") continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--", option, " goes with the NAME of a lab, or with --all; ./qkv lab lists the labs"));
  }
  show(list_of_labs(language));
  return absl::OkStatus();
}

}  // namespace

Verb lab_verb() {
  return {{"lab", "[NAME]", "measures claims of the lecture notes; no NAME: lists them"},
          add_lab_options,
          run_lab_verb,
          more_help};
}

}  // namespace qkv
