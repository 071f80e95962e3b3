#pragma once

#include <functional>
#include <iterator>
#include <type_traits>
#include <vector>

namespace qkv {

// The results of f, which may be a pointer to a member, for each element of `all`.
template <class Range, class F>
auto each_of(const Range& all, const F& f) {
  std::vector<std::decay_t<decltype(std::invoke(f, *std::begin(all)))>> made;
  for (const auto& each : all) made.push_back(std::invoke(f, each));
  return made;
}

}  // namespace qkv
