#pragma once

#include <algorithm>
#include <cstdint>

namespace qkv::kernels {

// Keys first, first + 1 … last - 1.
struct KeyRange {
  int64_t first, last;
};

// Which keys a query sees. Query i stands at key p = first_query + i, which may be before the first
// key or after the last.
//
//   causal            those up to p                        0 …………… p
//   window w          those less than w away from p        p - w + 1 … p + w - 1
//   both              the last w up to p                   p - w + 1 … p
//
// Neither end of the range moves back from one query to the next.
struct KeyRule {
  bool causal = false;
  int64_t window = 0;  // 0: no limit
  int64_t first_query = 0;

  KeyRange of(int64_t query, int64_t keys) const {
    const int64_t p = first_query + query;
    int64_t first = 0, last = keys;
    if (window > 0) first = p - window + 1, last = p + window;
    if (causal) last = p + 1;
    first = std::clamp<int64_t>(first, 0, keys);
    return {first, std::clamp(last, first, keys)};
  }
};

}  // namespace qkv::kernels
