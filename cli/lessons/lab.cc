#include <unistd.h>

#include <cstdio>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/lessons/verbs.h"
#include "cli/output_files.h"
#include "framework/core/columns.h"
#include "framework/io/files.h"
#include "lessons/labs/labs.h"
#include "train/config/suggest.h"

namespace qkv {
namespace {

constexpr int64_t kColumns = 80;

std::vector<Lab> all_labs() {
  std::vector<Lab> labs;
  for (const auto& make : kLabs) labs.push_back(make());
  return labs;
}

std::set<std::string> names_of_options() {
  std::set<std::string> names;
  for (const Lab& lab : all_labs()) {
    for (const LabOption& option : lab.options) names.insert(option.name);
  }
  return names;
}

void add_options(OptionList& options) {
  options.flag("all", "Runs every lab");
  options.flag("control", "Removes the effect that the lab measures: the verdict must change");
  options.text("html", "FILE", "Writes the report as a page");
  options.text("json", "FILE", "Writes the report as JSON");
  options.text("out", "DIR",
               "With --all: writes a page and a JSON file for each lab, and an index");
  options.text("notes", "FILE",
               "With --all: writes the lecture notes, claim by claim, as Markdown");
  options.text("runs", "DIR", "Folder where trained models are kept and found again", "runs/lab");
  for (const std::string& name : names_of_options()) options.unlisted_text(name);
}

// The text beside the head, in as many lines as it takes.
std::string entry(const std::string& head, const std::string& text) {
  constexpr int64_t kIndent = 18;
  std::string lines = wrapped(text, kColumns, std::string(kIndent, ' '));
  return lines.replace(0, kIndent, padded("  " + head, kIndent));
}

void list_labs() {
  for (const Lab& lab : all_labs()) {
    print(entry(lab.name, absl::StrCat(lab.question, " (", lab.duration, ")")));
  }
  print("\n./qkv lab NAME runs one, ./qkv lab --all every one\n");
}

absl::StatusOr<Lab> find_lab(const std::string& name) {
  std::vector<std::string> names;
  for (Lab& lab : all_labs()) {
    if (lab.name == name) return std::move(lab);
    names.push_back(lab.name);
  }
  const std::string meant = nearest(name, names);
  return absl::NotFoundError(absl::StrCat(
      "there is no lab \"", name, "\"",
      meant.empty() ? "; ./qkv lab lists them" : absl::StrCat("; did you mean \"", meant, "\"?")));
}

std::string help_on_labs() {
  std::vector<std::string> measure_time;
  for (const Lab& lab : all_labs()) {
    if (lab.measures_time) measure_time.push_back(lab.name);
  }
  const std::string help = absl::StrCat(
      "./qkv lab lists the labs, ./qkv lab NAME --help prints the options of one lab. "
      "Measured times differ in each run: ",
      absl::StrJoin(measure_time, ", "), ".");
  return absl::StrCat("\n", wrapped(help, kColumns));
}

absl::StatusOr<std::string> more_help(const std::string& name) {
  if (name.empty()) return help_on_labs();
  const absl::StatusOr<Lab> lab = find_lab(name);
  if (!lab.ok()) return lab.status();
  std::string help = wrapped(absl::StrCat(lab->name, ": ", lab->question), kColumns);
  for (const LabOption& option : lab->options) {
    help += entry(
        absl::StrCat("--", option.name, option.longest > 1 ? " N,…" : " N"),
        absl::StrCat(option.help, ": ", wanted_by(option), " (default: ", option.if_missing, ")"));
  }
  help += entry("--control", lab->control);
  if (lab->measures_time) help += "Measured times differ in each run.\n";
  return absl::StrCat("\n", help);
}

// On a terminal one line, written over again and again.
void show_progress(const std::string& what) {
  if (isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\r\x1b[K%s", what.c_str());
}

using Options = std::map<std::string, std::string>;

Options options_of_labs(const GivenOptions& given) {
  Options options;
  for (const std::string& name : names_of_options()) {
    if (given.has(name)) options[name] = given.text(name);
  }
  return options;
}

Options taken_by(const Lab& lab, const Options& options) {
  Options taken;
  for (const LabOption& option : lab.options) {
    const auto found = options.find(option.name);
    if (found != options.end()) taken.insert(*found);
  }
  return taken;
}

absl::StatusOr<Report> report_of(const Lab& lab, const Options& options,
                                 const GivenOptions& given) {
  absl::StatusOr<Report> report =
      run_lab(lab, options, given.has("control"), given.text("runs"), show_progress);
  show_progress("");
  return report;
}

absl::Status write_if_asked(const std::string& path, const std::string& text) {
  return path.empty() ? absl::OkStatus() : write_file_atomically(path, text);
}

absl::Status run_one(const std::string& name, const GivenOptions& given) {
  if (given.has("out"))
    return absl::InvalidArgumentError("--out goes with --all; for one lab use --html FILE");
  if (given.has("notes")) return absl::InvalidArgumentError("--notes goes with --all");
  const absl::StatusOr<Lab> lab = find_lab(name);
  if (!lab.ok()) return lab.status();
  const OutputFile files[] = {{"html", given.text("html"), kBeginningOfPage},
                              {"json", given.text("json"), kBeginningOfReport}};
  if (absl::Status s = check_outputs(files); !s.ok()) return s;
  const absl::StatusOr<Report> report = report_of(*lab, options_of_labs(given), given);
  if (!report.ok()) return report.status();
  print(report_text(*report));
  if (absl::Status s = write_if_asked(given.text("html"), report_page(*report)); !s.ok()) return s;
  return write_if_asked(given.text("json"), report_json(*report));
}

// Checks each option with every lab that takes it.
absl::Status check_for_all(const Options& options) {
  for (const Lab& lab : all_labs()) {
    const absl::Status status = read_options(lab, taken_by(lab, options)).status();
    if (status.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat("the lab ", lab.name, ": ", status.message()));
  }
  return absl::OkStatus();
}

// Makes the folder of the pages.
absl::Status prepare_targets(const GivenOptions& given) {
  for (const char* const option : {"html", "json"}) {
    if (!given.has(option)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", option, " goes with one lab; for all labs use --out DIR"));
  }
  std::vector<OutputFile> files = {{"notes", given.text("notes"), kBeginningOfLectureNotes}};
  if (const std::string folder = given.text("out"); !folder.empty()) {
    if (absl::Status s = make_folder(folder); !s.ok()) return s;
    files.push_back({"out", folder + "/index.html", kBeginningOfPage});
    for (const Lab& lab : all_labs()) {
      files.push_back({"out", absl::StrCat(folder, "/", lab.name, ".html"), kBeginningOfPage});
      files.push_back({"out", absl::StrCat(folder, "/", lab.name, ".json"), kBeginningOfReport});
    }
  }
  return check_outputs(files);
}

absl::Status write_pages(const std::string& folder, const Report& report) {
  const std::string path = absl::StrCat(folder, "/", report.name);
  const std::string page = report_page(report, /*beside_index=*/true);
  if (absl::Status s = write_file_atomically(path + ".html", page); !s.ok()) return s;
  return write_file_atomically(path + ".json", report_json(report));
}

absl::Status run_all(const GivenOptions& given) {
  const Options options = options_of_labs(given);
  if (absl::Status s = check_for_all(options); !s.ok()) return s;
  if (absl::Status s = prepare_targets(given); !s.ok()) return s;
  const std::string folder = given.text("out");
  std::vector<Report> reports;
  for (const Lab& lab : all_labs()) {
    absl::StatusOr<Report> report = report_of(lab, taken_by(lab, options), given);
    if (!report.ok()) return report.status();
    print(report_verdicts(*report));
    if (!folder.empty()) {
      if (absl::Status s = write_pages(folder, *report); !s.ok()) return s;
    }
    reports.push_back(*std::move(report));
  }
  if (!folder.empty()) {
    absl::Status s = write_file_atomically(folder + "/index.html", index_page(reports));
    if (!s.ok()) return s;
  }
  return write_if_asked(given.text("notes"), lecture_notes(reports));
}

// Without a NAME and without --all the verb lists the labs, and takes no option.
absl::Status check_nothing_given(const GivenOptions& given) {
  std::set<std::string> names = names_of_options();
  names.insert({"control", "html", "json", "out", "notes", "runs"});
  for (const std::string& name : names) {
    if (!given.has(name)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--", name, " goes with the NAME of a lab, or with --all; ./qkv lab lists the labs"));
  }
  return absl::OkStatus();
}

absl::Status run(const std::string& name, const GivenOptions& given) {
  const bool all = given.has("all");
  if (all && !name.empty())
    return absl::InvalidArgumentError("--all runs every lab; leave out the NAME");
  if (all) return run_all(given);
  if (!name.empty()) return run_one(name, given);
  if (absl::Status s = check_nothing_given(given); !s.ok()) return s;
  list_labs();
  return absl::OkStatus();
}

}  // namespace

Verb lab_verb() { return {kLabTitle, add_options, run, more_help}; }

}  // namespace qkv
