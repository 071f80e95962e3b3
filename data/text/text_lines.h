#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "data/text/source_files.h"
#include "data/wait.h"

namespace qkv {

// Files that are read for their lines, in memory.
struct TextOfLines {
  std::string text;            // of one after the other; a line ends with its file
  SourceFiles files;           // those and what was left out
  std::vector<size_t> begins;  // of each file, in the text
};

// All files that cannot be read, or are not UTF-8, are named; an error as well where all are empty.
absl::StatusOr<TextOfLines> read_text_of_lines(const std::string& paths, const Wait& wait);

struct LineOfFile {
  std::string_view text;
  std::string_view path;
  int64_t number = 0;  // in the file
};

// Those that are not blank, which live as long as the text.
std::vector<LineOfFile> lines_of(const TextOfLines& text);

}  // namespace qkv
