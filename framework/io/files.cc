#include "framework/io/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace qkv {
namespace {

constexpr char kTemporary[] = ".tmp-";  // NAME.tmp-PROCESS-COUNT

// Opens a pipe without waiting for its writer.
constexpr int kWithoutWaiting = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

absl::Status system_error(const char* verb, const std::string& path, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", verb, " ", path));
}

// Writes the parts, one after the other. Returns 0 or an errno.
int write_all(int file, std::span<const std::string_view> parts) {
  std::vector<iovec> rest;
  for (const std::string_view part : parts) {
    if (!part.empty()) rest.push_back({const_cast<char*>(part.data()), part.size()});
  }
  for (size_t first = 0; first < rest.size();) {
    const size_t count = std::min<size_t>(rest.size() - first, IOV_MAX);
    const ssize_t written = ::writev(file, &rest[first], static_cast<int>(count));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    for (auto left = static_cast<size_t>(written); left > 0;) {
      iovec& part = rest[first];
      const size_t taken = std::min(left, part.iov_len);
      part = {static_cast<char*>(part.iov_base) + taken, part.iov_len - taken};
      left -= taken;
      if (part.iov_len == 0) ++first;
    }
  }
  return 0;
}

// Closes, and returns 0 or an errno: on network file systems a failed write may show only here.
int close_checked(FileDescriptor& file) { return ::close(file.release()) == 0 ? 0 : errno; }

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

// The process that a temporary file of `file_name` ("NAME.tmp-PROCESS-COUNT") is from; 0: it is
// none.
uint64_t writer_of_temporary(std::string_view name, std::string_view file_name) {
  const size_t end = name.rfind(kTemporary);
  if (end == std::string_view::npos || end == 0) return 0;
  if (!file_name.empty() && name.substr(0, end) != file_name) return 0;
  const std::string_view numbers = name.substr(end + std::strlen(kTemporary));
  const size_t dash = numbers.find('-');
  uint64_t process = 0, count = 0;
  const bool is_one =
      dash != std::string_view::npos &&
      absl::SimpleAtoi(absl::string_view(numbers.data(), dash), &process) &&
      absl::SimpleAtoi(absl::string_view(numbers.data() + dash + 1, numbers.size() - dash - 1),
                       &count);
  return is_one ? process : 0;
}

absl::Status write_in_place(const std::string& path, std::span<const std::string_view> parts) {
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return system_error("write", path, errno);
  int error = write_all(file.get(), parts);
  if (error == 0) error = close_checked(file);
  return error == 0 ? absl::OkStatus() : system_error("write", path, error);
}

absl::StatusOr<std::string> read_to_end(const std::string& path, const FileDescriptor& file,
                                        uint64_t max_bytes) {
  std::string bytes;
  try {
    for (;;) {
      const size_t old_size = bytes.size();
      // Doubles its size, and looks one byte beyond the limit.
      const uint64_t chunk = std::min<uint64_t>(std::max<size_t>(old_size, 1 << 12),
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

absl::Status check_regular(const char* verb, const std::string& path, const FileDescriptor& file) {
  struct stat status;
  if (::fstat(file.get(), &status) != 0) return system_error(verb, path, errno);
  if (S_ISDIR(status.st_mode)) return system_error(verb, path, EISDIR);
  if (S_ISREG(status.st_mode)) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("cannot ", verb, " ", path, ": it is not a regular file"));
}

// All of the parts at the end of the file, or none of them.
absl::Status write_at_end(const std::string& path, const FileDescriptor& file,
                          std::span<const std::string_view> parts) {
  struct stat before;
  if (::fstat(file.get(), &before) != 0) return system_error("write", path, errno);
  if (const int error = write_all(file.get(), parts)) {
    // Removes the part that was written; if even that fails, cut_lines() finds the torn line.
    if (::ftruncate(file.get(), before.st_size) != 0) return system_error("mend", path, errno);
    return system_error("write", path, error);
  }
  return absl::OkStatus();
}

std::string resolved(const std::string& path) {
  char buffer[PATH_MAX];
  return ::realpath(path.c_str(), buffer) != nullptr ? std::string(buffer) : path;
}

// A file complete on the disk under another name; "": none, as the target is not a regular file.
struct StagedFile {
  std::string path, target, temporary;
};

absl::StatusOr<StagedFile> stage(const std::string& path, std::span<const std::string_view> parts) {
  struct stat status;
  std::string target = path;
  if (::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) target = resolved(path);
  if (::stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (absl::Status s = write_in_place(path, parts); !s.ok()) return s;
    return StagedFile{path, target, ""};
  }
  remove_temporaries_of_the_dead(target);
  StagedFile staged{path, target, temporary_name(target)};
  FileDescriptor file(::open(staged.temporary.c_str(),
                             O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file.is_open()) return system_error("write", path, errno);
  int error = write_all(file.get(), parts);
  if (error == 0) error = flush_to_disk(file.get());
  if (error == 0) error = close_checked(file);
  if (error == 0) return staged;
  ::unlink(staged.temporary.c_str());
  return system_error("write", path, error);
}

absl::Status put_in_place(const StagedFile& file) {
  if (file.temporary.empty()) return absl::OkStatus();
  if (::rename(file.temporary.c_str(), file.target.c_str()) != 0) {
    return system_error("write", file.path, errno);
  }
  const int error = flush_folder_of(file.target);
  return error == 0 ? absl::OkStatus() : system_error("flush the folder of", file.path, error);
}

// Puts all in place if `status` is good; otherwise, and after a failure, none more.
absl::Status end_staging(std::span<const StagedFile> files, absl::Status status) {
  for (const StagedFile& file : files) {
    if (status.ok()) status = put_in_place(file);
    if (!status.ok()) ::unlink(file.temporary.c_str());  // one that is in place has no such name
  }
  return status;
}

}  // namespace

absl::StatusOr<FileDescriptor> open_regular_file(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), kWithoutWaiting));
  if (!file.is_open()) return system_error("read", path, errno);
  if (absl::Status status = check_regular("read", path, file); !status.ok()) return status;
  return file;
}

absl::StatusOr<std::string> read_regular_file(const std::string& path, uint64_t max_bytes) {
  const absl::StatusOr<FileDescriptor> file = open_regular_file(path);
  if (!file.ok()) return file.status();
  return read_to_end(path, *file, max_bytes);
}

absl::StatusOr<std::string> read_file(const std::string& path, uint64_t max_bytes) {
  const FileDescriptor file(::open(path.c_str(), kWithoutWaiting));
  struct stat status;
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 ||
      ::fcntl(file.get(), F_SETFL, O_RDONLY) != 0) {
    return system_error("read", path, errno);
  }
  absl::StatusOr<std::string> bytes = read_to_end(path, file, max_bytes);
  if (!bytes.ok() || !bytes->empty() || !S_ISFIFO(status.st_mode)) return bytes;
  return absl::DataLossError(
      absl::StrCat("cannot read ", path, ": it is a pipe that nobody writes to"));
}

absl::StatusOr<std::string> read_standard_input(uint64_t max_bytes) {
  const FileDescriptor file(::dup(STDIN_FILENO));
  if (!file.is_open()) return system_error("read", "standard input", errno);
  return read_to_end("standard input", file, max_bytes);
}

absl::Status write_file_atomically(const std::string& path,
                                   std::span<const std::string_view> parts) {
  const absl::StatusOr<StagedFile> file = stage(path, parts);
  return file.ok() ? end_staging(std::span(&*file, 1), absl::OkStatus()) : file.status();
}

absl::Status write_files_together(std::span<const FileToWrite> files) {
  std::vector<StagedFile> staged;
  for (const auto& [path, bytes] : files) {
    absl::StatusOr<StagedFile> file = stage(path, std::span(&bytes, 1));
    if (!file.ok()) return end_staging(staged, file.status());
    staged.push_back(*std::move(file));
  }
  return end_staging(staged, absl::OkStatus());
}

absl::Status write_file_atomically(const std::string& path, std::string_view bytes) {
  return write_file_atomically(path, std::span(&bytes, 1));
}

absl::Status check_can_write(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return system_error("write", path, EISDIR);
  if (std::filesystem::is_character_file(path, ignored)) {
    // Without a terminal of its own for this process. No bytes: /dev/full has no room for them.
    const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
    const bool writes = file.is_open() && ::write(file.get(), "", 0) == 0;
    return writes ? absl::OkStatus() : system_error("write", path, errno);
  }
  // The path of what should be a folder ends in "/.", since a file that stands there is none.
  const std::filesystem::path folder = std::filesystem::path(path).parent_path() / ".";
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  const int error = errno;
  if (::access(path.c_str(), W_OK) == 0) return absl::OkStatus();
  return system_error("write", path, error);
}

void remove_temporaries_of_the_dead(const std::string& path) {
  const std::filesystem::path file(path);
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code error;
  for (std::filesystem::directory_iterator i(folder, error), end; !error && i != end;
       i.increment(error)) {
    const uint64_t writer =
        writer_of_temporary(i->path().filename().native(), file.filename().native());
    const bool is_dead = writer > 0 && ::kill(static_cast<pid_t>(writer), 0) != 0 && errno == ESRCH;
    if (is_dead) ::unlink(i->path().c_str());
  }
}

std::string temporary_name(const std::string& path) {
  static std::atomic<uint64_t> count{0};
  return absl::StrCat(path, kTemporary, ::getpid(), "-", count++);
}

bool is_temporary(const std::string& name) { return writer_of_temporary(name, "") > 0; }

absl::Status make_folder(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return absl::OkStatus();
  const std::string above = std::filesystem::path(path).parent_path();
  if (!above.empty() && above != path) {
    if (absl::Status status = make_folder(above); !status.ok()) return status;
  }
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
    return system_error("make the folder", path, errno);
  }
  if (const int flush_error = flush_folder_of(path)) {
    return system_error("flush the folder of", path, flush_error);
  }
  return absl::OkStatus();
}

absl::Status remove_temporary_files(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator i(folder, error), end; !error && i != end;
       i.increment(error)) {
    if (!is_temporary(i->path().filename())) continue;
    if (::unlink(i->path().c_str()) != 0 && errno != ENOENT) {
      return system_error("remove", i->path(), errno);
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return system_error("read", folder, error.value());
  }
  return absl::OkStatus();
}

AppendFile::AppendFile(std::string path, FileDescriptor folder)
    : path_(std::move(path)),
      name_(std::filesystem::path(path_).filename()),
      folder_(std::move(folder)) {}

absl::StatusOr<AppendFile> AppendFile::open(const std::string& path) {
  const std::filesystem::path above = std::filesystem::path(path).parent_path();
  FileDescriptor folder(
      ::open(above.empty() ? "." : above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return system_error("write", path, errno);
  AppendFile file(path, std::move(folder));
  absl::StatusOr<FileDescriptor> opened = file.open_or_make();
  if (!opened.ok()) return opened.status();
  file.file_ = *std::move(opened);
  return file;
}

absl::StatusOr<FileDescriptor> AppendFile::open_or_make() const {
  // Without waiting for a pipe's reader.
  constexpr int kFlags =
      O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  FileDescriptor file(::openat(folder_.get(), name_.c_str(), kFlags, 0666));
  if (!file.is_open()) return system_error("write", path_, errno);
  if (absl::Status status = check_regular("write", path_, file); !status.ok()) return status;
  return file;
}

absl::Status AppendFile::put_back() {
  struct stat own, there;
  if (::fstat(file_.get(), &own) != 0) return system_error("write", path_, errno);
  if (::fstatat(folder_.get(), name_.c_str(), &there, 0) == 0 && there.st_dev == own.st_dev &&
      there.st_ino == own.st_ino) {
    return absl::OkStatus();
  }
  if (::lseek(file_.get(), 0, SEEK_SET) != 0) return system_error("read", path_, errno);
  const absl::StatusOr<std::string> lines = read_to_end(path_, file_, UINT64_MAX);
  if (!lines.ok()) return lines.status();
  absl::StatusOr<FileDescriptor> file = open_or_make();
  if (!file.ok()) return file.status();
  const absl::StatusOr<std::string> found = read_to_end(path_, *file, UINT64_MAX);
  if (!found.ok()) return found.status();
  if (found->empty()) {
    const std::string_view parts[] = {*lines};
    if (absl::Status s = write_at_end(path_, *file, parts); !s.ok()) return s;
  } else if (*found != *lines) {
    return absl::DataLossError(
        absl::StrCat("cannot write ", path_,
                     ": another file has replaced it, without all the lines written before"));
  }
  file_ = *std::move(file);
  return absl::OkStatus();
}

absl::Status AppendFile::append(std::string_view lines) {
  if (absl::Status status = put_back(); !status.ok()) return status;
  const std::string_view parts[] = {lines, "\n"};
  return write_at_end(path_, file_, parts);
}

absl::Status AppendFile::append_bytes(std::string_view bytes) {
  if (absl::Status status = put_back(); !status.ok()) return status;
  return write_at_end(path_, file_, std::span(&bytes, 1));
}

absl::Status AppendFile::flush() {
  if (absl::Status status = put_back(); !status.ok()) return status;
  const int error = flush_to_disk(file_.get());
  return error == 0 ? absl::OkStatus() : system_error("flush", path_, error);
}

absl::Status cut_lines(const std::string& path,
                       absl::FunctionRef<absl::StatusOr<bool>(std::string_view line)> keep) {
  absl::StatusOr<std::string> text = read_regular_file(path);
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
