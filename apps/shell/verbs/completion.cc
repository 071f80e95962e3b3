#include "cli/kit.h"

namespace qkv {
namespace {

// Scripts that ask `qkv _complete` what may stand in the place of the last word. Its first line
// may say that files, folders or configs may: these the shells find themselves.

// bash parts words at "=", and completes what follows it.
constexpr char kBash[] = R"bash(# Completion of qkv for bash, made by: qkv completion bash
_qkv() {
  local word=${COMP_WORDS[COMP_CWORD]} found words
  found=$("${COMP_WORDS[0]/#\~/$HOME}" _complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  words=$(sed $'/^:/d; s/\t.*//' <<<"$found")
  if [[ $COMP_WORDBREAKS == *=* ]]; then
    word=${word#=} words=$(sed 's/.*=\(.\)/\1/' <<<"$words")
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word" || case $found in
    :files*) compgen -f -- "$word" ;;
    :folders*) compgen -d -- "$word" ;;
    :configs*) compgen -f -X '!*.toml' -- "$word"; compgen -d -- "$word" ;;
  esac)
  [[ $found != :* ]] || compopt -o filenames 2>/dev/null
  [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace 2>/dev/null
}
complete -F _qkv qkv
)bash";

constexpr char kZsh[] = R"zsh(#compdef qkv
# Completion of qkv for zsh, made by: qkv completion zsh
_qkv() {
  local -a found=("${(@f)$(${~words[1]} _complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  local -a offered=("${(@)${(@)found:#(:*|)}//$'\t'/:}")
  local -a keys=("${(@M)offered:#*=}") others=("${(@)offered:#*=}")
  (( $#keys )) && _describe key keys -S ''
  (( $#others )) && _describe word others
  compset -P '--*='
  case $found[1] in
    :files) _files ;;
    :folders) _files -/ ;;
    :configs) _files -g '*.toml(-.)' ;;
  esac
}
if [[ $funcstack[1] == _qkv ]]; then _qkv "$@"; else compdef _qkv qkv; fi
)zsh";

constexpr char kFish[] = R"fish(# Completion of qkv for fish, made by: qkv completion fish
function __qkv_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l option (string match -r '^--[^=]*=' -- (commandline -ct))
    set -l path (string replace -- "$option" '' (commandline -ct))
    set -l qkv (string replace -r '^~' $HOME $words[1])
    set -l found ($qkv _complete -- $words[2..] 2>/dev/null)
    string match -v -- ':*' $found
    switch "$found[1]"
        case :files
            __fish_complete_path $path | string replace -r '^' -- "$option"
        case :folders
            __fish_complete_directories $path | string replace -r '^' -- "$option"
        case :configs
            __fish_complete_suffix .toml
    end
end
complete -c qkv -f -a '(__qkv_complete)'
)fish";

void add_completion_options(OptionList& options) {
  options.choices("", [] { return std::vector<std::string>{"bash", "zsh", "fish"}; });
}

absl::Status run_completion(const std::string& shell, const GivenOptions& /*given*/) {
  if (shell == "bash") {
    print(kBash);
  } else if (shell == "zsh") {
    print(kZsh);
  } else if (shell == "fish") {
    print(kFish);
  } else {
    return invalid_argument("there is no completion for \"", shell,
                            "\"; there is for bash, zsh and fish");
  }
  return absl::OkStatus();
}

}  // namespace

Verb completion_verb() {
  return {{"completion", "SHELL", "prints what bash, zsh or fish complete"},
          add_completion_options,
          run_completion};
}

}  // namespace qkv
