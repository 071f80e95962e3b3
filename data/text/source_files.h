#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace qkv {

// A file of a text, and what changes when it does.
struct SourceFile {
  std::string path;
  int64_t bytes = 0;
  // Inode, size, and the times of the last change, in nanoseconds.
  std::string state = {};
  int64_t changed = 0;  // the later of these times
};

// The files that a path, or a list of them (data/paths.h), means: a file is itself, a folder is
// every regular file in it and below it, in the order of the names in each folder.
struct SourceFiles {
  std::vector<SourceFile> files;
  std::vector<std::string> left_out;  // "texts/.git (hidden)"

  int64_t bytes() const;
  std::string note() const;  // that says what was left out
};

absl::StatusOr<SourceFiles> find_source_files(const std::string& paths);

}  // namespace qkv
