#include "apps/labs/catalogue.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/labs/kit/lab_texts.h"
#include "apps/labs/labs.h"
#include "apps/report/writers/notes.h"
#include "framework/core/each_of.h"
#include "framework/core/text/columns.h"
#include "framework/core/text/terminal.h"
#include "train/config/suggest.h"

namespace qkv {
namespace {

// The text beside the head, in as many lines as it takes.
std::string entry(const std::string& head, const std::string& text) {
  constexpr int64_t kIndent = 18;
  std::string lines = wrapped(text, text_columns(), std::string(kIndent, ' '));
  return lines.replace(0, kIndent, padded("  " + head, kIndent));
}

// The options of the verb; its own help is in English.
std::string options_in_chinese() {
  std::string lines;
  for (const char* const head : {"--all", "--control", "--json FILE", "--out FILE", "--note FILE",
                                 "--notes FILE", "--lang en|zh", "--runs DIR"}) {
    const std::string name = std::string(head).substr(2, std::string(head).find(' ') - 2);
    lines += entry(head, option_of_verb(name).zh);
  }
  return lines + "\n";
}

}  // namespace

std::vector<Lab> all_labs() {
  return each_of(kLabs, [](const auto& make) { return make(); });
}

std::vector<std::string> names_of_labs() { return each_of(all_labs(), &Lab::name); }

absl::StatusOr<Lab> find_lab(const std::string& name) {
  for (Lab& lab : all_labs()) {
    if (lab.name == name) return std::move(lab);
  }
  const std::string meant = nearest(name, names_of_labs());
  return absl::NotFoundError(absl::StrCat(
      "there is no lab \"", name, "\"",
      meant.empty() ? "; ./qkv lab lists them" : absl::StrCat("; did you mean \"", meant, "\"?")));
}

std::string list_of_labs(Language language) {
  std::string list;
  for (const Lab& lab : all_labs()) {
    list += entry(lab.name, lab.question.in(language));
  }
  const Text how = say("./qkv lab NAME runs one lab, ./qkv lab --all runs all");
  return absl::StrCat(list, "\n", how.in(language), "\n");
}

std::string help_on_labs(Language language) {
  std::vector<std::string> measure_time;
  for (const Lab& lab : all_labs()) {
    if (lab.measures_time) measure_time.push_back(lab.name);
  }
  const Text help =
      say("./qkv lab lists the labs, ./qkv lab NAME --help prints the options of one lab. These "
          "labs measure times, which differ in each run: {0}.",
          absl::StrJoin(measure_time, ", "));
  return absl::StrCat("\n", language == Language::kChinese ? options_in_chinese() : "",
                      wrapped(help.in(language), text_columns()));
}

std::string help_on(const Lab& lab, Language language) {
  const Text title = say("{0}: {1}", lab.name, lab.question);
  std::string help = wrapped(title.in(language), text_columns());
  for (const LabOption& option : lab.options) {
    const Text text =
        say("{0}: {1} (default: {2})", option.help, wanted_by(option), option.if_missing);
    help += entry(absl::StrCat("--", option.name, option.longest > 1 ? " N,…" : " N"),
                  text.in(language));
  }
  for (const auto& [name, what] : lab.controls) help += entry("--control", what.in(language));
  if (lab.measures_time) help += times_differ().in(language) + "\n";
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
