#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "data/option_checker.h"
#include "data/vocabulary.h"

// What tasks over a file of the user's have in common.
namespace qkv {

constexpr int64_t kTextLength = 200;  // tokens that make a good piece of text

inline void check_path(const char* task, const DataOptions& options, OptionChecker& check) {
  if (!options.path.empty()) return;
  check.add("path", absl::StrCat("is missing: the task \"", task,
                                 "\" reads a file; give one with --set data.path=FILE"));
}

// The tokens of a text. All lines with an unknown character are named, at most 20.
absl::StatusOr<std::vector<int64_t>> encode_lines(const std::string& path, std::string_view text,
                                                  const Vocabulary& vocabulary);

}  // namespace qkv
