# shellcheck shell=bash
# What ./qkv answers without a build: --help, the help of each verb, --version, and a verb that does not exist. The
# words stand in docs/command-line.md, which a test holds to what the program prints. Sourced, after tools/setup.sh.

# help_of WORDS: what the page says that ./qkv WORDS --help prints. The config's keys, with which the help of several
# verbs ends, are there once: "…" stands for them.
help_of() {
  # shellcheck disable=SC2154  # root: of tools/setup.sh
  awk -v asked="\$ ./qkv${1:+ $1} --help" '
    /^```/ || /^\$ / { command = $0; in_keys = 0; next }
    command == "$ ./qkv config --help" && /^name = / { in_keys = 1 }
    in_keys { keys = keys $0 "\n" }
    command != asked { next }
    $0 == "…" { ends_in_keys = 1; next }
    { text = text $0 "\n" }
    END { printf "%s%s", text, ends_in_keys ? keys : "" }' "$root/docs/command-line.md"
}

# Ends the script where there is an answer.
answer_before_building() {
  local answer='' is_built=yes
  [[ -x $root/build/release/qkv ]] || is_built=no
  case "$*" in
    '' | -h | --help)
      answer=$(help_of '')
      [[ $is_built == yes ]] ||
        answer+=$'\n\nNothing is built yet: the first verb that runs builds qkv, which takes about two minutes.'
      ;;
    *' -h' | *' --help') answer=$(help_of "${*:1:$#-1}") ;;
    'help '*) answer=$(help_of "${*:2}") ;;
    --version)
      [[ $is_built == yes ]] ||
        answer="qkv $(sed -nE 's/^project\(qkv VERSION ([0-9.]+).*/\1/p' "$root/CMakeLists.txt"), not built yet"
      ;;
  esac
  if [[ -n $answer ]]; then
    printf '%s\n' "$answer"
    exit
  fi
  if [[ $is_built == no && -z $(help_of "$1") ]]; then
    printf 'error: there is no verb "%s"; ./qkv --help lists them\n' "$1" >&2
    exit 2
  fi
}
