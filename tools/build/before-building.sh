# shellcheck shell=bash
# What ./qkv answers without a build: --help, the help of each verb, --version, and a verb that does not exist. The
# words stand in docs/command-line.md, which a test holds to what the program prints. Sourced, after tools/build/setup.sh.

# help_of WORDS: what the page says that ./qkv WORDS --help prints
help_of() {
  # shellcheck disable=SC2154  # root: of tools/build/setup.sh
  awk -v asked="\$ ./qkv${1:+ $1} --help" '
    /^```/ || /^\$ / { command = $0; next }
    command == asked' "$root/docs/command-line.md"
}

# Ends the script where there is an answer.
answer_before_building() {
  local answer='' is_built=yes
  [[ -x $root/build/release/qkv ]] || is_built=no
  if [[ ${1:-} == _complete ]]; then # a Tab waits for no build
    [[ $is_built == yes ]] || exit
    exec "$root/build/release/qkv" "$@"
  fi
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
