#pragma once

#include <unistd.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace qkv {

// Owns an open file: closes it at the end of its life. Move-only; -1 is none.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// Files of a run. Whatever goes wrong is a Status of one sentence that says what, where and why:
// "cannot write runs/reverse/config.toml: No space left on device".

// Opens a file to read it. An error if it is not regular: a device may have no end, a pipe no
// writer.
absl::StatusOr<FileDescriptor> open_regular_file(const std::string& path);

// The whole file, which must be a regular one. Fails, without reading on, when it has more than
// `max_bytes`.
absl::StatusOr<std::string> read_regular_file(const std::string& path,
                                              uint64_t max_bytes = UINT64_MAX);

// The same, or the bytes of a pipe or a character device until its end, as of `qkv train <(…)` in a
// shell. A pipe that nobody writes to is an error.
absl::StatusOr<std::string> read_file(const std::string& path, uint64_t max_bytes);
absl::StatusOr<std::string> read_standard_input(uint64_t max_bytes);

// Writes the parts, one after the other, so that a reader, a crash or a full disk meets either the
// old file whole or the new one: a temporary file beside it, flushed to the disk, renamed, and the
// folder flushed. On failure the old file is as it was and the temporary file is gone; the next
// write removes the temporary file of a killed process. A symbolic link stays one: its target is
// replaced. A device or pipe is written to as it is.
absl::Status write_file_atomically(const std::string& path,
                                   std::span<const std::string_view> parts);
absl::Status write_file_atomically(const std::string& path, std::string_view bytes);

// The same of files that belong together: all are whole on the disk before the first of them takes
// its place. So a full disk leaves all as they were.
struct FileToWrite {
  std::string path;
  std::string_view bytes;
};
absl::Status write_files_together(std::span<const FileToWrite> files);

// Whether a file could be written now, asked before long work. Devices and pipes are written to in
// place.
absl::Status check_can_write(const std::string& path);

// Makes the folder and those above it that are missing, each flushed to the disk with the name that
// it has in the one above.
absl::Status make_folder(const std::string& path);

// A unique name beside the file, for the new one until it is complete.
std::string temporary_name(const std::string& path);
// Whether a writer that was killed left a file of that name behind.
bool is_temporary(const std::string& name);
// Removes the temporary files for `path` whose writers have ended.
void remove_temporaries_of_the_dead(const std::string& path);

// Removes such files. Nobody may be writing to the folder. No folder: nothing to do.
absl::Status remove_temporary_files(const std::string& folder);

// A file that grows by whole lines. When it is removed meanwhile, or moved, it stands in its folder
// again, with all its lines, after the next append() or flush(). When another file is put in its
// place, one without the same lines, these fail.
class AppendFile {
 public:
  // Makes the file when there is none. An error if it is a link, or not a regular file.
  static absl::StatusOr<AppendFile> open(const std::string& path);

  // Writes the lines and a line end after them, which stand in the file when this returns. When it
  // fails, nothing of them stays in the file.
  absl::Status append(std::string_view lines);
  // The same without a line end, for records of another kind.
  absl::Status append_bytes(std::string_view bytes);

  // When this returns, the appended bytes are on the disk.
  absl::Status flush();

  const std::string& path() const { return path_; }

 private:
  AppendFile(std::string path, FileDescriptor folder);
  absl::StatusOr<FileDescriptor> open_or_make() const;
  absl::Status put_back();

  std::string path_, name_;
  FileDescriptor folder_;  // wherever that is moved to
  FileDescriptor file_;
};

// Cuts the file before the first line (given without its line end) that `keep` says false to, and
// always before a last line without an end, which a crash has torn. A failure of `keep` comes back
// behind "FILE:LINE: " and leaves the file as it was. No file: nothing to do.
absl::Status cut_lines(const std::string& path,
                       absl::FunctionRef<absl::StatusOr<bool>(std::string_view line)> keep);

}  // namespace qkv
