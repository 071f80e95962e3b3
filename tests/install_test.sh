#!/usr/bin/env bash
# tests/install_test.sh BUILD: installs the build into a folder of its own, builds the examples
# against it as a stranger would, and compares what each prints with examples/NAME.expected.
set -euo pipefail
build=$1
examples=$(dirname "$(dirname "$(readlink -f "$0")")")/examples

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/installed"
cmake -S "$examples" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/installed"
cmake --build "$work/build"
for expected in "$examples"/*.expected; do
  name=$(basename "$expected" .expected)
  echo "running $name"
  "$work/build/$name" | diff "$expected" -
done
