#!/usr/bin/env bash
# tests/install_test.sh BUILD: installs the build into a folder of its own, builds the examples
# against it as a stranger would, and compares what each prints with examples/NAME.expected.
set -euo pipefail
build=$1
examples=$(dirname "$(dirname "$(readlink -f "$0")")")/examples

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What is left of rounding differs from processor to processor: numbers with an exponent, and where the
# largest of them stands.
without_rounding() { sed -E 's/worst at \[[0-9, ]+\]: analytic -?0,/worst: analytic 0,/; s/-?[0-9.]+e[-+][0-9]+/(small)/g'; }

cmake --install "$build" --prefix "$work/installed"
for file in LICENSE CHANGELOG.md; do test -s "$work/installed/share/doc/qkv/$file"; done
cmake -S "$examples" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/installed"
cmake --build "$work/build"
for expected in "$examples"/*.expected; do
  name=$(basename "$expected" .expected)
  echo "running $name"
  diff <(without_rounding <"$expected") <("$work/build/$name" | without_rounding)
done
