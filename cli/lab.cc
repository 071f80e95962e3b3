#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/verbs.h"
#include "framework/io/files.h"
#include "lessons/labs/labs.h"
#include "train/config/suggest.h"

namespace qkv {
namespace {

std::vector<Lab> all_labs() {
  std::vector<Lab> labs;
  for (const auto& make : kLabs) labs.push_back(make());
  return labs;
}

// By the name of each option of any lab: the labs that take it.
std::map<std::string, std::vector<std::string>> readers_of_options() {
  std::map<std::string, std::vector<std::string>> readers;
  for (const Lab& lab : all_labs()) {
    for (const LabOption& option : lab.options) readers[option.name].push_back(lab.name);
  }
  return readers;
}

void add_options(OptionList& options) {
  options.flag("all", "Runs every lab");
  options.flag("control", "Takes out what the lab is about: its verdict must change");
  options.text("html", "FILE", "The report as a page of its own");
  options.text("json", "FILE", "The report for other programs");
  options.text("out", "DIR", "With --all: a page of each, and an index of them");
  options.text("notes", "FILE", "With --all: the notes, claim by claim, as Markdown");
  options.text("runs", "DIR", "Where trained models are kept, and found again", "runs/lab");
  for (const auto& [name, labs] : readers_of_options()) {
    options.text(name, "N,…", absl::StrCat("Of ", absl::StrJoin(labs, ", ")));
  }
}

void list_labs() {
  for (const Lab& lab : all_labs()) {
    print(absl::StrFormat("  %-16s %s (%s)\n", lab.name, lab.question, lab.duration));
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

// On a terminal one line, written over again and again.
void show_progress(const std::string& what) {
  if (isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\r\x1b[K%s", what.c_str());
}

bool takes(const Lab& lab, const std::string& option) {
  return std::ranges::find(lab.options, option, &LabOption::name) != lab.options.end();
}

// chosen: it was named, so that each option has to be one of its own.
absl::StatusOr<Report> report_of(const Lab& lab, bool chosen, const GivenOptions& given) {
  std::map<std::string, std::string> options;
  for (const auto& [name, labs] : readers_of_options()) {
    if (given.has(name) && (chosen || takes(lab, name))) options[name] = given.text(name);
  }
  absl::StatusOr<Report> report =
      run_lab(lab, options, given.has("control"), given.text("runs"), show_progress);
  show_progress("");
  return report;
}

absl::Status write_if_asked(const std::string& path, const std::string& text) {
  return path.empty() ? absl::OkStatus() : write_file_atomically(path, text);
}

absl::Status run_one(const std::string& name, const GivenOptions& given) {
  if (given.has("out")) return absl::InvalidArgumentError("--out goes with --all; --html FILE");
  if (given.has("notes")) return absl::InvalidArgumentError("--notes goes with --all");
  const absl::StatusOr<Lab> lab = find_lab(name);
  if (!lab.ok()) return lab.status();
  const absl::StatusOr<Report> report = report_of(*lab, /*chosen=*/true, given);
  if (!report.ok()) return report.status();
  print(report_text(*report));
  if (absl::Status s = write_if_asked(given.text("html"), report_page(*report)); !s.ok()) return s;
  return write_if_asked(given.text("json"), report_json(*report));
}

absl::Status run_all(const GivenOptions& given) {
  for (const char* const option : {"html", "json"}) {
    if (!given.has(option)) continue;
    return absl::InvalidArgumentError(absl::StrCat("--", option, " goes with one lab; --out DIR"));
  }
  const std::string folder = given.text("out");
  if (!folder.empty()) {
    if (absl::Status s = make_folder(folder); !s.ok()) return s;
  }
  std::vector<Report> reports;
  for (const Lab& lab : all_labs()) {
    absl::StatusOr<Report> report = report_of(lab, /*chosen=*/false, given);
    if (!report.ok()) return report.status();
    print(report_verdicts(*report));
    if (!folder.empty()) {
      const std::string path = absl::StrCat(folder, "/", lab.name);
      absl::Status s = write_file_atomically(path + ".html", report_page(*report));
      if (s.ok()) s = write_file_atomically(path + ".json", report_json(*report));
      if (!s.ok()) return s;
    }
    reports.push_back(*std::move(report));
  }
  if (!folder.empty()) {
    absl::Status s = write_file_atomically(folder + "/index.html", index_page(reports));
    if (!s.ok()) return s;
  }
  return write_if_asked(given.text("notes"), lecture_notes(reports));
}

absl::Status run(const std::string& name, const GivenOptions& given) {
  const bool all = given.has("all");
  if (all && !name.empty()) return absl::InvalidArgumentError("--all runs every lab: name none");
  if (all) return run_all(given);
  if (!name.empty()) return run_one(name, given);
  list_labs();
  return absl::OkStatus();
}

}  // namespace

Verb lab_verb() {
  return {"lab", "[NAME]", "measures what the lecture notes claim; alone: the list", add_options,
          run};
}

}  // namespace qkv
