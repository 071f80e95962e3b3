# shellcheck shell=bash
# What ./qkv answers in a fresh clone, at once: --help, --version, and a verb that does not exist. Sourced, after
# tools/setup.sh. The verbs are read from the sources, so that there is one list of them.

# A line for each verb: NAME, a tab, its argument, a tab, what it does.
verbs_in_sources() {
  # shellcheck disable=SC2154  # root: of tools/setup.sh
  cat "$root"/cli/*.cc "$root/cli/lesson_titles.h" | tr '\n' ' ' |
    grep -oE '(\{ *|Title)\{ *"[a-z]+", *"[^"]*", *"[^"]*"' |
    sed -E 's/^[^"]*"([a-z]+)", *"([^"]*)", *"([^"]*)"$/\1\t\2\t\3/'
}

# Ends the script where there is an answer.
answer_before_building() {
  local first=${1:---help} name argument summary width
  case $first in
    -h | --help)
      printf 'qkv trains small transformers and shows how they learn.\n\nUsage: qkv VERB [arguments]\n\n'
      while IFS=$'\t' read -r name argument summary; do
        width=8
        [[ $argument == *…* ]] && width=10  # printf counts bytes, of which this character has three
        printf '  %-10s  %-*s  %s\n' "$name" "$width" "$argument" "$summary"
      done < <(verbs_in_sources | sed 's/\t\t/\t \t/')
      printf '\nNothing is built yet: the first verb that runs builds qkv, which takes about two minutes.\n'
      exit 0
      ;;
    --version)
      printf 'qkv %s, not built yet\n' "$(sed -nE 's/^project\(qkv VERSION ([0-9.]+).*/\1/p' "$root/CMakeLists.txt")"
      exit 0
      ;;
  esac
  verbs_in_sources | cut -f1 | grep -qxF -- "$first" && return
  printf 'error: there is no verb "%s"; ./qkv --help lists them\n' "$first" >&2
  exit 2
}
