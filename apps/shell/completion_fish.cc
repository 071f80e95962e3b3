#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "apps/shell/completion.h"

namespace qkv {
namespace {

constexpr char kFishFunctions[] = R"fish(
function __qkv_verb_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test $words[2] = $argv[1]
end

function __qkv_runs
    for file in runs/*/config.toml runs/*/*/config.toml
        string replace -r '/config.toml$' '' $file
    end
end

complete -c qkv -f
complete -c qkv -n '__fish_is_first_arg' -l help -d 'Prints the verbs'
complete -c qkv -n '__fish_is_first_arg' -l version -d 'Prints the version'
)fish";

std::string quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

// The options of `complete` for a value or an argument.
std::string offers(const std::string& name, const std::vector<std::string>& choices) {
  switch (kind_of_word(name, choices)) {
    case WordKind::kNothing:
      return "";
    case WordKind::kFile:
      return " -F";
    case WordKind::kFolder:
      return " -a '(__fish_complete_directories)'";
    case WordKind::kConfig:
      return " -k -a '(__fish_complete_suffix .toml)'";
    case WordKind::kRun:
      return " -F -a '(__qkv_runs)'";
    case WordKind::kKey:
      return " -a '(__qkv_keys)'";
    case WordKind::kChoice:
      return absl::StrCat(" -a ", quoted(absl::StrJoin(choices, " ")));
  }
  return "";
}

}  // namespace

std::string fish_completion(std::span<const VerbEntry> verbs) {
  std::string keys = "function __qkv_keys\n    printf '%s\\n'";
  for (const KeyEntry& key : config_keys()) {
    absl::StrAppend(&keys, " \\\n        ", key.key, "=");
    for (const std::string& value : key.values) absl::StrAppend(&keys, " ", key.key, "=", value);
  }
  std::string lines;
  for (const VerbEntry& verb : verbs) {
    const std::string name = verb.title.name;
    const std::string line = absl::StrCat("complete -c qkv -n '__qkv_verb_is ", name, "'");
    absl::StrAppend(&lines, "\ncomplete -c qkv -n '__fish_is_first_arg' -a ", name, " -d ",
                    quoted(verb.title.summary), "\n");
    if (*verb.title.argument != '\0') {
      absl::StrAppend(&lines, line, offers(verb.title.argument, verb.choices), "\n");
    }
    for (const OptionEntry& option : verb.options) {
      absl::StrAppend(&lines, line, " -l ", option.name);
      if (!option.letter.empty()) absl::StrAppend(&lines, " -s ", option.letter);
      if (!option.value.empty()) {
        const std::string offered = offers(option.value, option.choices);
        // -x: a value, and no file but those that are offered
        absl::StrAppend(&lines, offered.starts_with(" -F") ? " -r" : " -x", offered);
      }
      if (!option.help.empty()) absl::StrAppend(&lines, " -d ", quoted(option.help));
      lines += "\n";
    }
  }
  return absl::StrCat("# Completion of qkv for fish, made by: qkv completion fish\n\n", keys,
                      "\nend\n", kFishFunctions, lines);
}

}  // namespace qkv
