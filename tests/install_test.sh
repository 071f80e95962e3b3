#!/usr/bin/env bash
# tests/install_test.sh BUILD: installs the build into a folder of its own, builds the examples
# against it as a stranger would, and compares what each prints with examples/NAME.expected.
set -euo pipefail
build=$1
root=$(dirname "$(dirname "$(readlink -f "$0")")")
examples=$root/examples library=$root/docs/library.md

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What is left of rounding differs from processor to processor: in f128 numbers below 1e-29, in f64 the differences at
# the end of a line, below 1e-14, and where the largest of them stands. All other digits are the same.
without_rounding() {
  sed -E 's/worst at \[[0-9, ]+\]: analytic -?0,/worst: analytic 0,/
          s/-?[0-9.]+e-3[0-9]/(rounding)/g
          s/: [0-9.]+e-1[5-9]$/: (rounding)/'
}

# code LANGUAGE NUMBER: that block of code of docs/library.md.
code() { awk -v fence="\`\`\`$1" -v n="$2" '/^```/ { inside = !open && $0 == fence && ++k == n; open = !open; next } inside' "$library"; }

# What ./qkv train alone has built, and who uses of it what is there.
sed "s#\"$build/\(libqkv_gradcheck[a-z_]*.a\|libqkv_html.a\|qkv-[a-z]*\|shell/[^\"]*\)\"#\"$work/not-built\"#" "$build/cmake_install.cmake" >"$work/part.cmake"
cmake -D CMAKE_INSTALL_PREFIX="$work/part" -P "$work/part.cmake"
mkdir "$work/use"
printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(use LANGUAGES CXX)' 'find_package(qkv REQUIRED)' \
  'if(TARGET qkv::gradcheck OR NOT TARGET qkv::models)' 'message(FATAL_ERROR "other targets")' 'endif()' >"$work/use/CMakeLists.txt"
cmake -S "$work/use" -B "$work/use" -G Ninja -DCMAKE_PREFIX_PATH="$work/part" 2>&1 | grep 'so there is no qkv::gradcheck'

cmake --install "$build" --prefix "$work/installed"
for file in LICENSE CHANGELOG.md; do test -s "$work/installed/share/doc/qkv/$file"; done
for file in bash-completion/completions/qkv zsh/site-functions/_qkv fish/vendor_completions.d/qkv.fish man/man1/qkv.1; do
  test -s "$work/installed/share/$file"
done

# The program of docs/library.md is one more example.
cp -r "$examples" "$work/examples"
code cpp 1 >"$work/examples/library.cc"
code '' 2 >"$work/examples/library.expected"
{ echo 'add_executable(my_program library.cc)' && code cmake 1; } >>"$work/examples/CMakeLists.txt"
cmake -S "$work/examples" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/installed"
cmake --build "$work/build"
mv "$work/build/my_program" "$work/build/library"
for expected in "$work/examples"/*.expected; do
  name=$(basename "$expected" .expected)
  echo "running $name"
  diff <(without_rounding <"$expected") <("$work/build/$name" | without_rounding)
done

# A report as a page and as a document.
"$work/build/gradcheck" "$work/report" >/dev/null
grep -q '<span class="disagrees verdict">FAIL</span>' "$work/report.html"
grep -q '"verdict": "FAIL"' "$work/report.json"
if command -v python3 >/dev/null; then python3 -m json.tool "$work/report.json" >/dev/null; fi
