#include "framework/io/large_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

// So many bytes are on their way to the disk before the next ones are written: keep() then waits
// for no more than these.
constexpr uint64_t kFlushedAtOnce = 32 << 20;

absl::Status write_failure(const std::string& path, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot write ", path));
}

template <class Read>
absl::StatusOr<size_t> read_all(const std::string& path, std::span<char> bytes, const Read& read) {
  size_t count = 0;
  while (count < bytes.size()) {
    const ssize_t got = read(bytes.subspan(count), count);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
    if (got == 0) break;
    count += static_cast<size_t>(got);
  }
  return count;
}

}  // namespace

absl::StatusOr<size_t> read_next(const std::string& path, const FileDescriptor& file,
                                 std::span<char> bytes) {
  return read_all(path, bytes, [&](std::span<char> rest, size_t) {
    return ::read(file.get(), rest.data(), rest.size());
  });
}

absl::StatusOr<size_t> read_at(const std::string& path, const FileDescriptor& file, uint64_t offset,
                               std::span<char> bytes) {
  return read_all(path, bytes, [&](std::span<char> rest, size_t count) {
    return ::pread(file.get(), rest.data(), rest.size(), static_cast<off_t>(offset + count));
  });
}

LargeFile::LargeFile(std::string path, std::string temporary, FileDescriptor file)
    : path_(std::move(path)), temporary_(std::move(temporary)), file_(std::move(file)) {}

LargeFile::~LargeFile() {
  if (file_.is_open() && !temporary_.empty()) ::unlink(temporary_.c_str());
}

absl::StatusOr<LargeFile> LargeFile::create(const std::string& path) {
  const std::filesystem::path above = std::filesystem::path(path).parent_path();
  const std::string folder = above.empty() ? "." : above.string();
  if (absl::Status status = make_folder(folder); !status.ok()) return status;
  remove_temporaries_of_the_dead(path);
  FileDescriptor unnamed(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
  if (unnamed.is_open()) return LargeFile(path, "", std::move(unnamed));
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT) return write_failure(path, errno);
  const std::string temporary = temporary_name(path);
  FileDescriptor file(
      ::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file.is_open()) return write_failure(path, errno);
  return LargeFile(path, temporary, std::move(file));
}

absl::Status LargeFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::write(file_.get(), bytes.data(), std::min<size_t>(bytes.size(), kFlushedAtOnce));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return write_failure(path_, written < 0 ? errno : EIO);
    const auto count = static_cast<uint64_t>(written);
    bytes.remove_prefix(count);
    const uint64_t before = size_ / kFlushedAtOnce * kFlushedAtOnce;
    size_ += count;
    if (size_ - before >= kFlushedAtOnce) {
      ::sync_file_range(file_.get(), static_cast<off_t>(before), kFlushedAtOnce,
                        SYNC_FILE_RANGE_WRITE);
    }
  }
  return absl::OkStatus();
}

absl::Status LargeFile::keep() {
  if (::fsync(file_.get()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    return write_failure(path_, errno);
  }
  if (temporary_.empty()) {
    // A link cannot take the place of a file, a name can.
    const std::string name = temporary_name(path_),
                      from = absl::StrCat("/proc/self/fd/", file_.get());
    if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return write_failure(path_, errno);
    }
    temporary_ = name;
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return write_failure(path_, errno);
  temporary_.clear();
  return absl::OkStatus();
}

FileDescriptor LargeFile::release() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  return std::move(file_);
}

}  // namespace qkv
