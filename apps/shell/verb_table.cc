#include "apps/shell/verb_table.h"

#include <variant>

#include "absl/strings/match.h"
#include "train/config/config_fields.h"

#define CXXOPTS_VECTOR_DELIMITER '\0'  // as in cli/verb.cc
#include <cxxopts.hpp>

namespace qkv {
namespace {

void list_options(const Verb& verb, VerbEntry& entry) {
  cxxopts::Options options(verb.title.name);
  OptionList list(options);
  verb.add_options(list);
  list.flag("h,help", "Prints this help");
  for (const std::string& group : options.groups()) {
    for (const cxxopts::HelpOptionDetails& option : options.group_help(group).options) {
      // The long names; a name of one letter is its own.
      const std::string name = option.l.empty() ? option.s : option.l.front();
      entry.options.push_back({.name = name,
                               .letter = option.l.empty() ? "" : option.s,
                               .value = option.is_boolean         ? ""
                                        : option.arg_help.empty() ? "VALUE"
                                                                  : option.arg_help,
                               .help = option.desc,
                               .if_missing = option.is_boolean ? "" : option.default_value,
                               .repeats = list.rules().repeats(name),
                               .choices = list.choices_of(name)});
    }
  }
  entry.choices = list.choices_of("");
}

}  // namespace

std::vector<VerbEntry> verb_table(std::span<Verb (*const)()> verbs) {
  std::vector<VerbEntry> table;
  for (const auto make_verb : verbs) {
    const Verb verb = make_verb();
    VerbEntry entry = {.title = verb.title, .options = {}, .choices = {}};
    list_options(verb, entry);
    table.push_back(std::move(entry));
  }
  return table;
}

WordKind kind_of_word(const std::string& name, const std::vector<std::string>& choices) {
  if (!choices.empty()) return WordKind::kChoice;
  if (absl::StrContains(name, "KEY=VALUE")) return WordKind::kKey;
  if (absl::StrContains(name, "CONFIG")) return WordKind::kConfig;
  if (absl::StrContains(name, "RUN")) return WordKind::kRun;
  if (absl::StrContains(name, "FILE")) return WordKind::kFile;
  return absl::StrContains(name, "DIR") ? WordKind::kFolder : WordKind::kNothing;
}

std::vector<KeyEntry> config_keys() {
  Config defaults;
  std::vector<KeyEntry> keys;
  for (const Field& field : config_fields(defaults)) {
    const bool is_flag = std::holds_alternative<bool*>(field.value);
    keys.push_back(
        {field.key(), is_flag ? std::vector<std::string>{"true", "false"} : field.allowed});
  }
  return keys;
}

}  // namespace qkv
