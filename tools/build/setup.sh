# shellcheck shell=bash
# What ./qkv, ./test and .ci/run share: the packages qkv needs, and how it is built. Sourced, not run.
# Everything here speaks on standard error: standard output belongs to the program that is launched.

# The compiler, the build tools and the libraries, as Debian and Ubuntu call them.
# (Debian 12's oneDNN asks CMake for OpenCL, which its package does not pull in.)
packages=(
  g++ cmake ninja-build esbuild
  libdnnl-dev ocl-icd-opencl-dev
  libabsl-dev libcxxopts-dev libtomlplusplus-dev nlohmann-json3-dev libxxhash-dev
  zlib1g-dev libpng-dev libturbojpeg0-dev libutf8proc-dev
)
# What the Python package needs, and the notebooks that use it.
# shellcheck disable=SC2034  # tools/build/python.sh and ./test use them
python_packages=(python3 python3-dev python3-numpy pybind11-dev)
# shellcheck disable=SC2034
notebook_packages=(jupyter-notebook)

# What only the tests need.
test_packages=(libgtest-dev libgmock-dev fish zsh man-db)

# A browser, and what drives it: the tests of the lesson page. Without them those are skipped.
browser_packages=(
  chromium-headless-shell chromium-driver python3-selenium python3-numpy poppler-utils fonts-noto-cjk
  python3-nbconvert python3-ipykernel
)

# What a build must have been configured with, besides its preset: NAME=ON.
configure_options=()

root=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
cores=$(nproc 2>/dev/null || echo 2)

say() { printf '%s\n' "$*" >&2; }

die() {
  say "error: $*"
  exit 1
}

# write_to_build: whether build/ can be written to; else it prints why not, and what to do.
write_to_build() {
  local failure remedy
  failure=$({ export LC_ALL=C && mkdir -p "$root/build" && echo "$$" >"$root/build/.lock"; } 2>&1) && return
  failure=${failure##*: }
  case $failure in
    'No space left on device') remedy="make room on that disk" ;;
    'File exists' | 'Not a directory') remedy="it is a file: move it away" ;;
    'Permission denied') remedy="it belongs to $(stat -c %U "$root/build" 2>/dev/null || stat -c %U "$root"): clone qkv into a folder of yours" ;;
    *) remedy="copy qkv to a folder that can be written to" ;;
  esac
  printf '%s/build, in which qkv is built, cannot be written to (%s); %s\n' "$root" "$failure" "$remedy"
  return 1
}

# app_of VERB: the app that has it; nothing for a verb of the book.
app_of() {
  local file
  for file in "$root"/apps/*/verbs/"$1".cc; do
    if [[ -f $file ]]; then basename "${file%/verbs/*}"; fi
  done
}

# is_up_to_date FILE…: whether they are there, and nothing that qkv is built from is newer: no source, and no folder of
# them, where one came or went.
is_up_to_date() {
  local file newer=(-false)
  for file in "$@"; do
    [[ -e $file ]] || return
    newer+=(-o -newer "$file")
  done
  [[ -z $(find "$root"/{CMakeLists.txt,cmake,framework,models,data,train,cli,apps} \
    \( "${newer[@]}" \) -print -quit 2>/dev/null) ]]
}

# build_side COMMIT FOLDER [APP]: the commit's sources in FOLDER/source and its programs, qkv and that of the app, in
# FOLDER/build; both are links where COMMIT is the folder of a build.
build_side() {
  local programs=(qkv)
  mkdir -p "$2"
  if [[ -x $1/qkv ]]; then
    ln -s "$root" "$2/source"
    ln -s "$(readlink -f "$1")" "$2/build"
    return
  fi
  git -C "$root" rev-parse --quiet --verify "$1^{commit}" >/dev/null || die "there is neither a commit nor a build $1"
  git -C "$root" worktree add --quiet --detach "$2/source" "$1"
  say "building $(git -C "$2/source" log -1 --format='%h %s')…"
  if [[ -d $2/source/apps/${3:-none} ]]; then programs+=("qkv-$3"); fi
  if ! { cmake -S "$2/source" -B "$2/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DQKV_BUILD_TESTS=OFF &&
    ninja -C "$2/build" -j "$cores" "${programs[@]}"; } >"$2/log" 2>&1; then
    tail -n 30 "$2/log" >&2
    die "$1 could not be built"
  fi
}

# ensure_packages NAME…: installs those that are missing. A stamp makes the next run skip the question.
ensure_packages() {
  local stamp="$root/build/.packages" missing
  grep -qsxF "$*" "$stamp" && return
  mkdir -p "$root/build"
  if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
    mapfile -t missing < <(missing_packages "$@")
    if ((${#missing[@]})); then install_packages "${missing[@]}"; fi
  else
    ensure_tools_elsewhere
  fi
  printf '%s\n' "$*" >>"$stamp"
}

# ensure_browser NAME…: installs these, and what the tests of the lesson page need. Where that cannot be had, it
# installs nothing, and tries again a day later.
ensure_browser() {
  local failed="$root/build/.browser-failed"
  [[ -n $(find "$failed" -mtime -1 2>/dev/null) ]] && return 1
  if (ensure_packages "$@" "${browser_packages[@]}"); then
    rm -f "$failed"
    return
  fi
  touch "$failed"
  say "going on without a browser: the tests of the lesson page will be skipped"
  return 1
}

# ensure_tokenizers: installs Hugging Face's tokenizers, which read what qkv writes, under build/tokenizers.
ensure_tokenizers() {
  local folder="$root/build/tokenizers"
  command -v npm >/dev/null || ensure_packages npm
  [[ -d $folder/node_modules/tokenizers ]] ||
    npm install --silent --no-fund --no-audit --no-package-lock --prefix "$folder" tokenizers@0.23.2
}

# ensure_onnx: installs what checks and runs an exported graph of ONNX, 150 MB of it under build/onnx.
ensure_onnx() {
  local folder="$root/build/onnx" runtime=onnxruntime-web@1.30.0
  ensure_packages python3-onnx python3-numpy
  command -v npm >/dev/null || ensure_packages npm
  [[ -d $folder/node_modules/onnxruntime-web ]] ||
    npm install --silent --no-fund --no-audit --no-package-lock --prefix "$folder" "$runtime"
}

# ensure_mpi: installs both MPIs of Debian, beside each other.
ensure_mpi() { ensure_packages pkg-config libopenmpi-dev openmpi-bin libmpich-dev mpich; }

missing_packages() {
  local installed package
  # shellcheck disable=SC2016  # dpkg-query fills in ${…}
  installed=" $(dpkg-query -W -f='${Package}=${db:Status-Status} ' "$@" 2>/dev/null || true)"
  for package in "$@"; do
    [[ $installed == *" $package=installed "* ]] || printf '%s\n' "$package"
  done
}

install_packages() {
  local log="$root/build/install.log" command="apt-get install -y --no-install-recommends $*"
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o DPkg::Lock::Timeout=300)
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "packages are missing, and there is no sudo; as root, run: $command"
    apt=(sudo "${apt[@]}")
  fi
  say "installing $*"
  local install=("${apt[@]}" install --no-install-recommends --no-remove "$@")
  # The lists of packages are fetched only when those at hand are missing or out of date.
  if ! { "${install[@]}" || { "${apt[@]}" update && "${install[@]}"; }; } >"$log" 2>&1 </dev/null; then
    die "packages could not be installed; is there a network? The log is $log, the command: $command"
  fi
}

# Not Debian or Ubuntu: there is no package manager to ask, but CMake will say which library it misses.
ensure_tools_elsewhere() {
  local tool
  for tool in c++ cmake ninja esbuild; do
    command -v "$tool" >/dev/null || { say_what_to_install && die "there is no $tool here"; }
  done
}

say_what_to_install() {
  say "qkv installs what it needs on Debian and Ubuntu only. Install this here, and run again:"
  say "  a C++20 compiler with OpenMP, CMake 3.25 or newer, Ninja, esbuild, and the libraries oneDNN (dnnl),"
  say "  Abseil, cxxopts, toml++, nlohmann/json, xxHash, zlib, libpng, libjpeg-turbo, utf8proc, and"
  say "  for the tests GoogleTest."
  say "  Debian calls them ${packages[*]} ${test_packages[*]}"
}

# build PRESET TESTS TARGET…: configures where that was not done yet, with TESTS "with_tests" or "without_tests",
# and builds what has changed. Says nothing when there is nothing to do; on failure shows the log and returns 1.
build() { under_lock build_now "$@"; }

# configure PRESET TESTS: the same without building.
configure() { under_lock configure_now "$@"; }

# One launch at a time writes to build/. Ctrl-C ends the launch: what is compiled stays.
under_lock() {
  local lock status=0
  trap 'stop_building 130' INT
  trap 'stop_building 143' TERM
  exec {lock}>"$root/build/.lock"
  if ! flock -n "$lock"; then
    say "waiting for another build to end…"
    flock "$lock"
  fi
  "$@" || status=$?
  exec {lock}>&-
  trap - INT TERM
  return "$status"
}

stop_building() {
  if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
  if [[ -n ${configuring:-} ]]; then rm -f "$configuring/build.ninja"; fi  # half of one may have been written
  say "the build was stopped; the same command goes on where it was"
  exit "$1"
}

build_now() {
  local preset=$1 tests=$2 log="$root/build/$1.log" target
  shift 2
  configure_now "$preset" "$tests" || return
  touch "$root/build/$preset/.began"
  if ninja -C "$root/build/$preset" -j "$cores" "$@" 2>&1 </dev/null | tee "$log" 2>/dev/null | show_progress "$preset"; then
    # Whoever finds nothing newer than these need not ask Ninja.
    for target; do touch -r "$root/build/$preset/.began" "$root/build/$preset/.built-$target"; done
    return
  fi
  report_failure "$preset" "$log"
  return 1
}

configure_now() {
  local preset=$1 tests=$2 folder="$root/build/$1" log="$root/build/$1.log" cmake=(cmake --preset "$1")
  local options=("${configure_options[@]}") option is_configured=yes
  if [[ $tests == with_tests ]]; then options+=(QKV_BUILD_TESTS=ON); fi
  # A folder that was copied from elsewhere would build the sources over there.
  if ! [[ -f $folder/build.ninja ]] || ! is_in_cache "$folder" "CMAKE_HOME_DIRECTORY:INTERNAL=$root"; then
    cmake+=(--fresh -D QKV_BUILD_TESTS=OFF)
    is_configured=no
  fi
  for option in "${options[@]}"; do
    cmake+=(-D "$option")
    is_in_cache "$folder" "${option/=/:BOOL=}" || is_configured=no
  done
  if [[ $is_configured == yes ]]; then return; fi
  say "configuring qkv ($preset)…"
  configuring=$folder
  if ! (cd "$root" && "${cmake[@]}") >"$log" 2>&1 </dev/null; then
    rm -f "$folder/build.ninja"  # half of one may have been written
    report_failure "$preset" "$log"
    command -v apt-get >/dev/null || say_what_to_install
    return 1
  fi
  configuring=""
}

is_in_cache() { grep -qsxF "$2" "$1/CMakeCache.txt"; }

report_failure() {
  grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking)' "$2" >&2
  local full=''
  if grep -qs 'No space left on device' "$2" || ! write_to_build >/dev/null; then full=': the disk is full'; fi
  say "error: the $1 build failed$full; its log is $2"
  rm -f "$root/build/.packages"  # perhaps a package has gone: ask again next time
}

# Reads what ninja writes, and says how far it is, in which part of qkv, and how long the rest takes if it goes on so:
# a line that changes on a terminal, a line every ten seconds elsewhere, and nothing at all when nothing is built.
show_progress() {
  local line part text next=0 began=$SECONDS finished left
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (Building|Linking) ]] || continue
    finished=${BASH_REMATCH[1]} left=$((BASH_REMATCH[2] - BASH_REMATCH[1]))
    text="building qkv ($1): $finished of ${BASH_REMATCH[2]}"
    if [[ $line =~ CMakeFiles/(qkv_)?([a-z_-]+)\.dir ]]; then
      part=${BASH_REMATCH[2]}
      text+=", $part"
    fi
    # The kernels come first and take longest: before a quarter of the files is done, the time so far misleads.
    if ((left && 3 * finished >= left && SECONDS - began >= 10)); then text+="; about $(((SECONDS - began) * left / finished + 1)) s left"; fi
    if [[ -t 2 ]]; then
      printf '\r\033[K%s ' "$text" >&2
      next=1
    elif ((SECONDS >= next)); then
      say "$text"
      next=$((SECONDS + 10))
    fi
  done
  if [[ -t 2 ]] && ((next)); then printf '\r\033[K' >&2; fi
}
