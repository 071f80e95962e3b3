#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace qkv {

// Collects what is wrong with files of the user's, each with its line: FILE:LINE: WHAT. Line 0 is
// the whole file: FILE: WHAT.
class FileMistakes {
 public:
  void add(std::string_view path, int64_t line, std::string_view what);
  bool empty() const { return count_ == 0; }

  // All of them as one error, a line each, in the order of their lines; of more than 20
  // those that were found first, and how many more there are.
  absl::Status status() const;

 private:
  struct Mistake {
    std::string path;
    int64_t line;
    std::string what;
  };
  std::vector<Mistake> mistakes_;
  int64_t count_ = 0;
};

}  // namespace qkv
