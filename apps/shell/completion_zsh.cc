#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "apps/shell/completion.h"

namespace qkv {
namespace {

constexpr char kZshFunctions[] = R"zsh(
_qkv_run() {
  local -a found=(runs/**/config.toml(N:h))
  (( $#found )) && compadd -a found
  _files
}

_qkv_key() {
  if compset -P 1 '*='; then
    _qkv_values ${IPREFIX%=}
  else
    compadd -S = -a _qkv_keys
  fi
}
)zsh";

// In quotes of the shell, within a specification of _arguments.
std::string in_specification(const std::string& text) {
  return absl::StrReplaceAll(text, {{"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
}

std::string action(const std::string& name, const std::vector<std::string>& choices) {
  switch (kind_of_word(name, choices)) {
    case WordKind::kNothing:
      return " ";
    case WordKind::kFile:
      return "_files";
    case WordKind::kFolder:
      return "_files -/";
    case WordKind::kConfig:
      return "_files -g \"*.toml(-.)\"";
    case WordKind::kRun:
      return "_qkv_run";
    case WordKind::kKey:
      return "_qkv_key";
    case WordKind::kChoice:
      return absl::StrCat("(", absl::StrJoin(choices, " "), ")");
  }
  return "";
}

std::string specification(const OptionEntry& option) {
  const std::string help = absl::StrCat("[", in_specification(option.help), "]");
  if (!option.letter.empty()) {
    return absl::StrCat("'(-", option.letter, " --", option.name, ")'{-", option.letter, ",--",
                        option.name, "}'", help, "'");
  }
  if (option.value.empty()) return absl::StrCat("'--", option.name, help, "'");
  return absl::StrCat("'", option.repeats ? "*" : "", "--", option.name, "=", help, ":",
                      in_specification(option.value), ":", action(option.value, option.choices),
                      "'");
}

}  // namespace

std::string zsh_completion(std::span<const VerbEntry> verbs) {
  std::string titles, cases, keys, values;
  for (const VerbEntry& verb : verbs) {
    absl::StrAppend(&titles, "    '", verb.title.name, ":", in_specification(verb.title.summary),
                    "'\n");
    absl::StrAppend(&cases, "    ", verb.title.name, ")\n      _arguments");
    for (const OptionEntry& option : verb.options) {
      absl::StrAppend(&cases, " \\\n        ", specification(option));
    }
    if (*verb.title.argument != '\0') {
      absl::StrAppend(&cases, " \\\n        '*:", in_specification(verb.title.argument), ":",
                      action(verb.title.argument, verb.choices), "'");
    }
    cases += "\n      ;;\n";
  }
  for (const KeyEntry& key : config_keys()) {
    absl::StrAppend(&keys, "  ", key.key, "\n");
    if (key.values.empty()) continue;
    absl::StrAppend(&values, "    ", key.key, ") compadd ", absl::StrJoin(key.values, " "),
                    " ;;\n");
  }
  return absl::StrCat(
      "#compdef qkv\n# Completion of qkv for zsh, made by: qkv completion zsh\n\n",
      "typeset -ga _qkv_keys=(\n", keys, ")\n\n_qkv_values() {  # KEY\n  case $1 in\n", values,
      "  esac\n}\n", kZshFunctions, "\n_qkv() {\n  local -a verbs=(\n", titles,
      "  )\n  if (( CURRENT == 2 )); then\n    _describe verb verbs\n",
      "    compadd -- --help --version\n    return\n  fi\n  shift words\n  (( CURRENT-- ))\n",
      "  case $words[1] in\n", cases, "  esac\n}\n\n",
      "if [[ $funcstack[1] == _qkv ]]; then\n  _qkv \"$@\"\nelse\n  compdef _qkv qkv\nfi\n");
}

}  // namespace qkv
