#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace qkv {

// What the fuzzers check: each target takes any bytes as the input that its name says, and throws
// std::logic_error when what comes out breaks a promise. A crash, a report of a sanitizer and any
// other exception are findings, too. Every finding that was mended stays as a file of
// corpus/TARGET.
struct FuzzTarget {
  std::string name;
  void (*run)(std::string_view input);
};

// Each by the name of its folder in the corpus.
inline std::vector<FuzzTarget>& fuzz_targets() {
  static auto& targets = *new std::vector<FuzzTarget>;
  return targets;
}
inline bool add_fuzz_target(const FuzzTarget& target) {
  fuzz_targets().push_back(target);
  return true;
}

}  // namespace qkv
