#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/shell/completion.h"

namespace qkv {
namespace {

// What follows the tables. bash parts words at "=", so they are put together again, and what
// stands before the last "=" is taken off the replies.
constexpr char kBashFunctions[] = R"bash(
# Run folders that are there, else whatever file or folder begins like that.
_qkv_runs() {
  local found="" file
  for file in runs/*/config.toml runs/*/*/config.toml; do
    [[ -f $file ]] && found+="${file%/config.toml}"$'\n'
  done
  compgen -W "$found" -- "$1" || compgen -f -- "$1"
}

_qkv_word() {  # KIND BEGINNING
  case $1 in
    file) compgen -f -- "$2" ;;
    folder) compgen -d -- "$2" ;;
    config)
      compgen -f -X '!*.toml' -- "$2"
      compgen -d -- "$2"
      ;;
    run) _qkv_runs "$2" ;;
    key)
      if [[ $2 == *=* ]]; then
        compgen -P "${2%%=*}=" -W "$(_qkv_values "${2%%=*}")" -- "${2#*=}"
      else
        compgen -S = -W "$_qkv_keys" -- "$2"
      fi
      ;;
    choice:*) compgen -W "${1#choice:}" -- "$2" ;;
  esac
}

_qkv() {
  local words=() word i cur verb kind
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((i > 0)) && [[ $word == = || ${COMP_WORDS[i - 1]} == = ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  cur=${words[-1]} verb=${words[1]-} COMPREPLY=()
  if ((${#words[@]} <= 2)); then
    mapfile -t COMPREPLY < <(compgen -W "$_qkv_verbs --help --version" -- "$cur")
    return
  fi
  if [[ $cur == --*=* ]]; then
    kind=$(_qkv_kind "$verb" "${cur%%=*}") word=${cur#*=}
  elif [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_qkv_options "$verb")" -- "$cur")
    return
  else
    kind=$(_qkv_kind "$verb" "${words[-2]}") word=$cur
    [[ $kind ]] || kind=$(_qkv_kind "$verb" argument)
  fi
  case $kind in
    file | folder | config | run) compopt -o filenames 2>/dev/null ;;
    key) [[ $word == *=* ]] || compopt -o nospace 2>/dev/null ;;
  esac
  mapfile -t COMPREPLY < <(_qkv_word "$kind" "$word")
  if [[ $COMP_WORDBREAKS == *=* ]]; then
    word=${word%"${word##*=}"}
    COMPREPLY=("${COMPREPLY[@]#"$word"}")
  fi
}

complete -F _qkv qkv
)bash";

std::string words_of(const std::vector<std::string>& words) { return absl::StrJoin(words, " "); }

// "" where nothing can be offered: any text, which is no argument either.
std::string kind_text(const std::string& name, const std::vector<std::string>& choices) {
  switch (kind_of_word(name, choices)) {
    case WordKind::kNothing:
      return "text";
    case WordKind::kFile:
      return "file";
    case WordKind::kFolder:
      return "folder";
    case WordKind::kConfig:
      return "config";
    case WordKind::kRun:
      return "run";
    case WordKind::kKey:
      return "key";
    case WordKind::kChoice:
      return absl::StrCat("choice:", words_of(choices));
  }
  return "";
}

}  // namespace

std::string bash_completion(std::span<const VerbEntry> verbs) {
  std::string names, options, kinds, keys, values;
  for (const VerbEntry& verb : verbs) {
    const std::string name = verb.title.name;
    absl::StrAppend(&names, names.empty() ? "" : " ", name);
    std::string of_verb;
    for (const OptionEntry& option : verb.options) {
      absl::StrAppend(&of_verb, of_verb.empty() ? "" : " ", "--", option.name);
      if (option.value.empty()) continue;
      absl::StrAppend(&kinds, "    ", name, ":--", option.name, ") echo '",
                      kind_text(option.value, option.choices), "' ;;\n");
    }
    absl::StrAppend(&options, "    ", name, ") echo '", of_verb, "' ;;\n");
    if (*verb.title.argument == '\0') continue;
    absl::StrAppend(&kinds, "    ", name, ":argument) echo '",
                    kind_text(verb.title.argument, verb.choices), "' ;;\n");
  }
  for (const KeyEntry& key : config_keys()) {
    absl::StrAppend(&keys, keys.empty() ? "" : " ", key.key);
    if (key.values.empty()) continue;
    absl::StrAppend(&values, "    ", key.key, ") echo '", words_of(key.values), "' ;;\n");
  }
  return absl::StrCat("# Completion of qkv for bash, made by: qkv completion bash\n\n_qkv_verbs='",
                      names, "'\n_qkv_keys='", keys,
                      "'\n\n_qkv_options() {  # VERB\n  case $1 in\n", options,
                      "  esac\n}\n\n_qkv_kind() {  # VERB OPTION: of the value\n",
                      "  case $1:$2 in\n", kinds, "  esac\n}\n\n_qkv_values() {  # KEY\n",
                      "  case $1 in\n", values, "  esac\n}\n", kBashFunctions);
}

}  // namespace qkv
