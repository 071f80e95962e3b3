#!/usr/bin/env bash
# What ./qkv and ./test answer in a fresh clone, before anything is installed or built.
# launcher_test.sh SOURCE PROGRAM: the tree, and the built program whose help must tell the same verbs.
set -euo pipefail
source_dir=$1 program=$2
clone=$(mktemp -d)
trap 'rm -rf "$clone"' EXIT
mkdir -p "$clone/tools/build"
cp "$source_dir"/qkv "$source_dir"/test "$source_dir/CMakeLists.txt" "$clone"
cp "$source_dir"/tools/build/*.sh "$clone/tools/build"
mkdir "$clone/docs"
cp "$source_dir/docs/command-line.md" "$clone/docs"

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}

lines_of_verbs() { grep -E '^  [a-z]+ +' | sed -E 's/ +/ /g' | sort; }

"$clone/qkv" --help >"$clone/help" || fail "--help"
diff <(lines_of_verbs <"$clone/help") <("$program" --help | lines_of_verbs) || fail "another list of verbs"
diff <("$clone/qkv") "$clone/help" || fail "no verb is not --help"
while read -r verb _; do
  diff <("$clone/qkv" "$verb" --help) <("$program" "$verb" --help | sed 's/ *$//') || fail "the help of $verb"
done < <(lines_of_verbs <"$clone/help")
[[ $("$clone/qkv" --version) == "$("$program" --version | head -1), not built yet" ]] || fail "--version"
status=0
message=$("$clone/qkv" trian x 2>&1) || status=$?
[[ $status == 2 && $message == 'error: there is no verb "trian"; ./qkv --help lists them' ]] || fail "a verb that is none"
"$clone/test" --help | grep -q -- '--tsan' || fail "./test --help"
[[ ! -e $clone/build ]] || fail "something was built"

# Where build/ cannot be written to, what is there runs, unless a source is newer; else one sentence says why.
says_why() {  # SENTENCE: of ./qkv and of ./test
  local launcher status message
  for launcher in "qkv train x" test; do
    status=0
    # shellcheck disable=SC2086  # words
    message=$(${as_user[@]+"${as_user[@]}"} "$clone"/$launcher 2>&1) || status=$?
    [[ $status == 1 && $message == "error: $clone/build, in which qkv is built, cannot be written to ($1"* && $message != *$'\n'* ]] ||
      fail "$launcher: $status, $message"
  done
}
touch "$clone/build"
says_why 'File exists); it is a file: move it away'
rm "$clone/build"
mkdir "$clone/build"
ln -s /dev/full "$clone/build/.lock"
says_why 'No space left on device); make room on that disk'
rm "$clone/build/.lock"
if ((EUID == 0)); then
  as_user=(setpriv --reuid=65534 --clear-groups)
  chmod a+rx "$clone"
  says_why "Permission denied); it belongs to $(id -un): clone qkv into a folder of yours"
  mkdir -p "$clone/build/release" "$clone"/{cmake,framework,models,data,train,cli,apps}
  printf '%s\n' '#!/bin/sh' 'echo "runs $*"' >"$clone/build/release/qkv"
  chmod +x "$clone/build/release/qkv"
  [[ $("${as_user[@]}" "$clone/qkv" train x) == "runs train x" ]] || fail "what is built does not run for another user"
  touch -d 'tomorrow' "$clone/framework/newer.cc"
  says_why "Permission denied); it belongs to"
  as_user=()
  rm -r "$clone/framework/newer.cc" "$clone/build/release"
fi

# Ctrl-C while it builds: tools that stand for CMake and Ninja, the second of which is interrupted with all of its group.
mkdir -p "$clone/bin" "$clone/build"
printf '%s\n' '#!/bin/sh' 'mkdir -p build/release' 'echo > build/release/build.ninja' >"$clone/bin/cmake"
printf '%s\n' '#!/bin/sh' 'echo "[1/9] Building CXX object a.o"' 'kill -INT 0' 'sleep 9' >"$clone/bin/ninja"
chmod +x "$clone"/bin/*
bash -c 'source "$1/tools/build/setup.sh"; printf "%s\n" "${packages[*]}" "${packages[*]} ${python_packages[*]}" "${notebook_packages[*]}" >"$1/build/.packages"' - "$clone"
status=0
message=$(PATH=$clone/bin:$PATH setsid -w env --default-signal=INT "$clone/qkv" train x 2>&1) || status=$?
[[ $status == 130 && $message == *$'\nthe build was stopped; the same command goes on where it was' ]] ||
  fail "Ctrl-C while building: $status, $message"
[[ -e $clone/build/release/build.ninja ]] || fail "Ctrl-C while compiling lost what CMake had done"

# What is built runs without Ninja, until a source is newer.
mkdir -p "$clone"/{cmake,framework,models,data,train,cli,apps}
# shellcheck disable=SC2016  # the tool fills it in
printf '%s\n' '#!/bin/sh' 'echo >>"$2/asked"' >"$clone/bin/ninja"
printf '%s\n' '#!/bin/sh' 'echo "runs $*"' >"$clone/build/release/qkv"
chmod +x "$clone/build/release/qkv"
for asked in 1 1 2; do
  if ((asked == 2)); then touch "$clone/framework/newer.cc"; fi
  [[ $(PATH=$clone/bin:$PATH "$clone/qkv" train x 2>/dev/null) == "runs train x" ]] || fail "what is built does not run"
  [[ $(wc -l <"$clone/build/release/asked") == "$asked" ]] || fail "Ninja was asked another number of times than $asked"
done

# Python gets the words behind the verb, and qkv on its path; its exit status and its signals are those of ./qkv. The
# tools stand for CMake and Ninja again.
if ! [[ -x /usr/bin/python3 ]]; then exit; fi
printf '%s\n' '#!/bin/sh' 'echo "$@" >build/cmake.words' 'mkdir -p build/release' 'echo > build/release/build.ninja' >"$clone/bin/cmake"
printf '%s\n' '#!/bin/sh' >"$clone/bin/ninja"
export PATH=$clone/bin:$PATH
unset VIRTUAL_ENV PYTHONPATH
status=0
message=$("$clone/qkv" python -c 'import os, sys; print(os.environ["PYTHONPATH"], *sys.argv[1:]); sys.exit(7)' --help "a b") || status=$?
[[ $status == 7 && $message == "$clone/build/release/python --help a b" ]] || fail "./qkv python: $status, $message"
grep -q -- '-D QKV_PYTHON=ON' "$clone/build/cmake.words" || fail "CMake was not asked for the Python package"
status=0
"$clone/qkv" python -c 'import os, signal; os.kill(os.getpid(), signal.SIGTERM)' || status=$?
[[ $status == 143 ]] || fail "a signal that ends Python: $status"
if /usr/bin/python3 -c 'import notebook' 2>/dev/null; then
  cp "$source_dir/tools/notebooks.py" "$clone/tools"
  mkdir -p "$clone/examples/python"
  printf '%s\n' '# %%' 'print(1)' >"$clone/examples/python/lesson.py"
  "$clone/qkv" notebook --version >/dev/null || fail "./qkv notebook"
  grep -q 'print(1)' "$clone/build/notebooks/lesson.ipynb" || fail "./qkv notebook made no notebook"
fi
