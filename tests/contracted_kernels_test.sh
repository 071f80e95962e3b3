#!/usr/bin/env bash
# tests/contracted_kernels_test.sh LIBRARY: two kernels are compiled so that a multiplication and an
# addition may be one instruction, the others so that they may not. A program has one copy of a
# template that both use, from either: what a sum is rounded to would depend on the linker.
set -euo pipefail

shared=$(nm -C --defined-only "$1" | awk '
  /\.o:$/ { file = $0; contracted = /fused_attention\.cc|small_product\.cc/ }
  $2 ~ /^[WVu]$/ && /qkv::kernels/ {
    name = substr($0, index($0, $3))
    if (contracted) contracted_file[name] = file
    else other_file[name] = file
  }
  END {
    for (name in contracted_file) if (name in other_file) print name, "in", contracted_file[name], other_file[name]
  }')
if [[ -n $shared ]]; then
  printf 'compiled in two ways:\n%s\n' "$shared" >&2
  exit 1
fi
