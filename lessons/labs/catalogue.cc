#include "lessons/labs/catalogue.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "framework/core/columns.h"
#include "lessons/labs/labs.h"
#include "train/config/suggest.h"

namespace qkv {
namespace {

// The text beside the head, in as many lines as it takes.
std::string entry(const std::string& head, const std::string& text) {
  constexpr int64_t kIndent = 18;
  std::string lines = wrapped(text, kTerminalColumns, std::string(kIndent, ' '));
  return lines.replace(0, kIndent, padded("  " + head, kIndent));
}

}  // namespace

std::vector<Lab> all_labs() {
  std::vector<Lab> labs;
  for (const auto& make : kLabs) labs.push_back(make());
  return labs;
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

std::string list_of_labs(Language language) {
  std::string list;
  for (const Lab& lab : all_labs()) {
    list += entry(lab.name, absl::StrCat(lab.question.in(language), " (", lab.duration, ")"));
  }
  const Text how = {"./qkv lab NAME runs one lab, ./qkv lab --all runs all",
                    "./qkv lab NAME --lang zh 运行一个实验，./qkv lab --all --lang zh 运行全部"};
  return absl::StrCat(list, "\n", how.in(language), "\n");
}

std::string help_on_labs() {
  std::vector<std::string> measure_time;
  for (const Lab& lab : all_labs()) {
    if (lab.measures_time) measure_time.push_back(lab.name);
  }
  const std::string help = absl::StrCat(
      "./qkv lab lists the labs, ./qkv lab NAME --help prints the options of one lab. "
      "These labs measure times, which differ in each run: ",
      absl::StrJoin(measure_time, ", "), ".");
  return absl::StrCat("\n", wrapped(help, kTerminalColumns));
}

std::string help_on(const Lab& lab) {
  std::string help = wrapped(absl::StrCat(lab.name, ": ", lab.question.en), kTerminalColumns);
  for (const LabOption& option : lab.options) {
    help += entry(absl::StrCat("--", option.name, option.longest > 1 ? " N,…" : " N"),
                  absl::StrCat(option.help.en, ": ", wanted_by(option),
                               " (default: ", option.if_missing, ")"));
  }
  for (const auto& [name, what] : lab.controls) help += entry("--control", what.en);
  if (lab.measures_time) help += "Measured times differ in each run.\n";
  return absl::StrCat("\n", help);
}

std::set<std::string> names_of_lab_options() {
  std::set<std::string> names;
  for (const Lab& lab : all_labs()) {
    for (const LabOption& option : lab.options) names.insert(option.name);
  }
  return names;
}

OptionTexts taken_by(const Lab& lab, const OptionTexts& options) {
  OptionTexts taken;
  for (const LabOption& option : lab.options) {
    const auto found = options.find(option.name);
    if (found != options.end()) taken.insert(*found);
  }
  return taken;
}

absl::Status check_for_all_labs(const OptionTexts& options) {
  for (const Lab& lab : all_labs()) {
    const absl::Status status = read_options(lab, taken_by(lab, options)).status();
    if (status.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat("the lab ", lab.name, ": ", status.message()));
  }
  return absl::OkStatus();
}

}  // namespace qkv
