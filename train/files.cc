#include "train/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "absl/strings/str_cat.h"

namespace qkv {
namespace {

absl::Status system_error(const char* verb, const std::string& path, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", verb, " ", path));
}

// Returns 0 or an errno.
int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    if (written == 0) return EIO;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

// Closes, and returns 0 or an errno: on network file systems a failed write may show only here.
int close_checked(FileDescriptor& file) { return ::close(file.release()) == 0 ? 0 : errno; }

int write_parts(FileDescriptor& file, std::span<const std::string_view> parts) {
  for (std::string_view part : parts) {
    if (const int error = write_all(file.get(), part)) return error;
  }
  return 0;
}

// Some file systems know no fsync, which is no reason to fail.
int flush_to_disk(int file) {
  if (::fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS) return 0;
  return errno;
}

int flush_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  FileDescriptor file(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder may be writable and not readable; then its flush is left to the system.
  if (!file.is_open()) return errno == EACCES ? 0 : errno;
  return flush_to_disk(file.get());
}

absl::Status write_in_place(const std::string& path, std::span<const std::string_view> parts) {
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return system_error("write", path, errno);
  int error = write_parts(file, parts);
  if (error == 0) error = close_checked(file);
  return error == 0 ? absl::OkStatus() : system_error("write", path, error);
}

std::string resolved(const std::string& path) {
  char buffer[PATH_MAX];
  return ::realpath(path.c_str(), buffer) != nullptr ? std::string(buffer) : path;
}

}  // namespace

absl::StatusOr<std::string> read_file(const std::string& path, uint64_t max_bytes) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return system_error("read", path, errno);
  std::string bytes;
  try {
    for (;;) {
      const size_t old_size = bytes.size();
      // Grows by what was read so far, and looks one byte beyond the limit.
      const uint64_t chunk = std::min<uint64_t>(std::max<size_t>(old_size, 1 << 16),
                                                max_bytes - old_size + (max_bytes != UINT64_MAX));
      bytes.resize(old_size + chunk);
      const ssize_t got = ::read(file.get(), bytes.data() + old_size, chunk);
      if (got < 0 && errno != EINTR) return system_error("read", path, errno);
      bytes.resize(old_size + static_cast<size_t>(std::max<ssize_t>(got, 0)));
      if (got == 0) return bytes;
      if (bytes.size() > max_bytes) {
        return absl::InvalidArgumentError(
            absl::StrCat("cannot read ", path, ": it has more than ", max_bytes, " bytes"));
      }
    }
  } catch (const std::bad_alloc&) {
    return system_error("read", path, ENOMEM);
  }
}

absl::Status write_file_atomically(const std::string& path,
                                   std::span<const std::string_view> parts) {
  struct stat status;
  std::string target = path;
  if (::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) target = resolved(path);
  if (::stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return write_in_place(path, parts);
  }

  static std::atomic<uint64_t> count{0};
  const std::string temporary = absl::StrCat(target, ".tmp-", ::getpid(), "-", count++);
  FileDescriptor file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file.is_open()) return system_error("write", path, errno);
  int error = write_parts(file, parts);
  if (error == 0) error = flush_to_disk(file.get());
  if (error == 0) error = close_checked(file);
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    return system_error("write", path, error);
  }
  if (const int flush_error = flush_folder_of(target)) {
    return system_error("flush the folder of", path, flush_error);
  }
  return absl::OkStatus();
}

absl::Status write_file_atomically(const std::string& path, std::string_view bytes) {
  return write_file_atomically(path, std::span(&bytes, 1));
}

absl::StatusOr<AppendFile> AppendFile::open(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file.is_open()) return system_error("write", path, errno);
  return AppendFile(path, std::move(file));
}

absl::Status AppendFile::append(std::string_view lines) {
  struct stat before;
  if (::fstat(file_.get(), &before) != 0) return system_error("write", path_, errno);
  std::string bytes(lines);
  bytes += '\n';
  if (const int error = write_all(file_.get(), bytes)) {
    // What was written of it goes again; if even that fails, cut_lines() finds the torn line.
    if (S_ISREG(before.st_mode) && ::ftruncate(file_.get(), before.st_size) != 0) {
      return system_error("mend", path_, errno);
    }
    return system_error("write", path_, error);
  }
  return absl::OkStatus();
}

absl::Status cut_lines(const std::string& path,
                       absl::FunctionRef<absl::StatusOr<bool>(std::string_view line)> keep) {
  absl::StatusOr<std::string> text = read_file(path);
  if (absl::IsNotFound(text.status())) return absl::OkStatus();
  if (!text.ok()) return text.status();
  size_t begin = 0;
  for (int64_t number = 1;; ++number) {
    const size_t end = text->find('\n', begin);
    if (end == std::string::npos) break;
    const absl::StatusOr<bool> kept = keep(std::string_view(*text).substr(begin, end - begin));
    if (!kept.ok()) {
      return absl::Status(kept.status().code(),
                          absl::StrCat(path, ":", number, ": ", kept.status().message()));
    }
    if (!*kept) break;
    begin = end + 1;
  }
  if (begin == text->size()) return absl::OkStatus();
  if (::truncate(path.c_str(), static_cast<off_t>(begin)) != 0) {
    return system_error("cut", path, errno);
  }
  return absl::OkStatus();
}

}  // namespace qkv
