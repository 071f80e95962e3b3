#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "framework/io/files.h"

// Files that are too large to be held in memory. `path` names a file in messages.
namespace qkv {

// Reads on until `bytes` is full or the file ends, and tells how many bytes there were.
absl::StatusOr<size_t> read_next(const std::string& path, const FileDescriptor& file,
                                 std::span<char> bytes);
// The same from `offset` on. It leaves the place of read_next() as it is.
absl::StatusOr<size_t> read_at(const std::string& path, const FileDescriptor& file, uint64_t offset,
                               std::span<char> bytes);

// A file that grows in pieces and gets its name when it is whole. So a reader meets the old file or
// the new one, and a killed process leaves nothing: where the file system has no files without a
// name, it leaves a temporary one (is_temporary() in files.h), which create() removes later.
class LargeFile {
 public:
  // In the folder of `path`, which it makes when it is missing.
  static absl::StatusOr<LargeFile> create(const std::string& path);
  LargeFile(LargeFile&& other) noexcept = default;
  ~LargeFile();

  absl::Status append(std::string_view bytes);
  // Flushes the file to the disk and gives it its name, which another file may have had.
  absl::Status keep();
  // The file, for reading. Without keep() it goes when it is closed.
  FileDescriptor release();

 private:
  LargeFile(std::string path, std::string temporary, FileDescriptor file);

  std::string path_;
  std::string temporary_;  // its name until it is whole; "": it has none
  FileDescriptor file_;
  uint64_t size_ = 0;
};

}  // namespace qkv
