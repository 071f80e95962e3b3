# shellcheck shell=bash
# What ./qkv, ./test and .ci/run share: the packages qkv needs, and how it is built. Sourced, not run.
# Everything here speaks on standard error: standard output belongs to the program that is launched.

# The compiler, the build tools and the libraries, as Debian and Ubuntu call them.
# (Debian 12's oneDNN asks CMake for OpenCL, which its package does not pull in.)
packages=(
  g++ cmake ninja-build
  libdnnl-dev ocl-icd-opencl-dev
  libabsl-dev libcxxopts-dev libtomlplusplus-dev nlohmann-json3-dev libxxhash-dev
  zlib1g-dev libpng-dev
  libgtest-dev libgmock-dev
)

# A browser, and what drives it: the tests of the lesson page. Without them those are skipped.
browser_packages=(chromium-headless-shell chromium-driver python3-selenium python3-numpy fonts-noto-cjk)

root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
cores=$(nproc 2>/dev/null || echo 2)

say() { printf '%s\n' "$*" >&2; }

die() {
  say "error: $*"
  exit 1
}

# ensure_packages NAME…: installs those that are missing. A stamp makes the next run skip the question.
ensure_packages() {
  local stamp="$root/build/.packages" missing
  grep -qsxF "$*" "$stamp" && return
  if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
    mapfile -t missing < <(missing_packages "$@")
    if ((${#missing[@]})); then install_packages "${missing[@]}"; fi
  else
    ensure_tools_elsewhere
  fi
  mkdir -p "$root/build"
  printf '%s\n' "$*" >>"$stamp"
}

# ensure_browser: installs what the tests of the lesson page need, and goes on without where it cannot be had; a
# day later it is tried again.
ensure_browser() {
  local failed="$root/build/.browser-failed"
  [[ -n $(find "$failed" -mtime -1 2>/dev/null) ]] && return
  if (ensure_packages "${browser_packages[@]}"); then
    rm -f "$failed"
    return
  fi
  touch "$failed"
  say "going on without a browser: the tests of the lesson page will be skipped"
}

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
  mkdir -p "$root/build"
  local install=("${apt[@]}" install --no-install-recommends --no-remove "$@")
  # The lists of packages are fetched only when those at hand are missing or out of date.
  if ! { "${install[@]}" || { "${apt[@]}" update && "${install[@]}"; }; } >"$log" 2>&1 </dev/null; then
    die "packages could not be installed; is there a network? The log is $log, the command: $command"
  fi
}

# Not Debian or Ubuntu: there is no package manager to ask, but CMake will say which library it misses.
ensure_tools_elsewhere() {
  local tool
  for tool in c++ cmake ninja; do
    command -v "$tool" >/dev/null || { say_what_to_install && die "there is no $tool here"; }
  done
}

say_what_to_install() {
  say "qkv installs what it needs on Debian and Ubuntu only. Install this here, and run again:"
  say "  a C++20 compiler with OpenMP, CMake 3.25 or newer, Ninja, and the libraries oneDNN (dnnl),"
  say "  Abseil, cxxopts, toml++, nlohmann/json, xxHash, zlib, libpng and GoogleTest. Debian calls them"
  say "  ${packages[*]}"
}

# build PRESET TARGET…: configures where that was not done yet, and builds what has changed. Says
# nothing when there is nothing to do; on failure shows the log and returns 1.
build() { under_lock build_now "$@"; }

# configure PRESET: the same without building.
configure() { under_lock configure_now "$1"; }

# One launch at a time writes to build/.
under_lock() {
  local lock status=0
  mkdir -p "$root/build"
  exec {lock}>"$root/build/.lock"
  if ! flock -n "$lock"; then
    say "waiting for another build to end…"
    flock "$lock"
  fi
  "$@" || status=$?
  exec {lock}>&-
  return "$status"
}

build_now() {
  local preset=$1 log="$root/build/$1.log"
  shift
  configure_now "$preset" || return
  ninja -C "$root/build/$preset" -j "$cores" "$@" 2>&1 </dev/null | tee "$log" | show_progress "$preset" && return
  report_failure "$preset" "$log"
  return 1
}

configure_now() {
  local folder="$root/build/$1" log="$root/build/$1.log"
  # A folder that was copied from elsewhere would build the sources over there.
  if [[ -f $folder/build.ninja ]] &&
    grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
    return
  fi
  say "configuring qkv ($1)…"
  if ! (cd "$root" && cmake --fresh --preset "$1") >"$log" 2>&1 </dev/null; then
    rm -f "$folder/build.ninja"  # half of one may have been written
    report_failure "$1" "$log"
    command -v apt-get >/dev/null || say_what_to_install
    return 1
  fi
}

report_failure() {
  grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking)' "$2" >&2
  say "error: the $1 build failed; its log is $2"
  rm -f "$root/build/.packages"  # perhaps a package has gone: ask again next time
}

# Reads what ninja writes: a count that moves on a terminal, one line elsewhere, and nothing at all
# when nothing is built.
show_progress() {
  local line shown=no
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (Building|Linking) ]] || continue
    if [[ -t 2 ]]; then
      printf '\rbuilding qkv (%s): %s of %s ' "$1" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" >&2
    elif [[ $shown == no ]]; then
      say "building qkv ($1)…"
    fi
    shown=yes
  done
  if [[ $shown == yes && -t 2 ]]; then printf '\r\033[K' >&2; fi
}
