#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "data/file.h"
#include "framework/core/status.h"

namespace qkv {

// A file of a text, and a state that changes when the file does.
struct SourceFile {
  std::string path;
  int64_t bytes = 0;
  // Inode, size, and the times of the last change, in nanoseconds.
  std::string state = {};
  int64_t changed = 0;  // the later of these times
};

// The files that a path, or a list of them (data/file.h), means: a file is itself, a folder is
// every regular file in it and below it, in the order of the names in each folder.
struct SourceFiles {
  std::vector<SourceFile> files;
  std::vector<std::string> left_out;  // "texts/.git (hidden)"

  int64_t bytes() const;
};

absl::StatusOr<SourceFiles> find_source_files(const std::string& paths);

std::vector<std::string> notes_on_left_out(std::initializer_list<const SourceFiles*> parts);

// Reads the files of a text from the first to the last, any number of times.
class TextPasses {
 public:
  // Reads `what`, with `bytes` bytes in all passes together.
  TextPasses(std::string what, const Wait& wait, size_t piece_bytes, int64_t bytes,
             Bytes kept = Bytes::kAsText)
      : what_(std::move(what)),
        wait_(wait),
        piece_bytes_(piece_bytes),
        kept_(kept),
        bytes_(bytes) {}

  // Gives `take` each piece of whole characters; a piece lies in one file; `begin_file` is called
  // before its first. All files that cannot be read, or are not UTF-8, are named, at most 20.
  using Take = absl::FunctionRef<absl::Status(std::string_view piece)>;
  absl::Status read(
      const SourceFiles& files, Take take, absl::FunctionRef<void()> begin_file = [] {});

  // The same line by line, each with its file and number, and with its end where it has one.
  using TakeLine =
      absl::FunctionRef<void(const std::string& path, int64_t number, std::string_view line)>;
  absl::Status read_lines(const SourceFiles& files, TakeLine take);

 private:
  absl::Status read_file(const std::string& path, Take take);

  std::string what_;
  const Wait& wait_;
  size_t piece_bytes_;
  Bytes kept_;
  int64_t bytes_, done_ = 0;
};

}  // namespace qkv
