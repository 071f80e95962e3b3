#include "train/folder/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/core/each_of.h"
#include "train/config/config.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

absl::Status cannot_read(const std::string& path, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot read ", path));
}

// The names in the folder, without the remains of a stopped create(): empty folders, temporary
// files.
absl::StatusOr<std::vector<std::string>> contents(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator i(path, error), end; !error && i != end; i.increment(error)) {
    std::error_code ignored;
    if (i->is_directory(ignored) && fs::is_empty(i->path(), ignored)) continue;
    if (is_temporary(i->path().filename())) continue;
    names.push_back(i->path().filename().string());
  }
  if (error) return cannot_read(path, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

// False where there is none; an error where that cannot be seen.
absl::StatusOr<bool> is_file(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::status_known(status)) return cannot_read(path, error.value());
  return fs::is_regular_file(status);
}

// Whether there is no such file, or nothing in it.
absl::StatusOr<bool> is_unused_file(const std::string& path) {
  ASSIGN_OR_RETURN(const bool exists, is_file(path));
  std::error_code error;
  return !exists || fs::is_empty(path, error);
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::string in(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).string();
}

FileDescriptor open_folder(const std::string& path) {
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

absl::Status cannot_open(const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
}

std::string name_of_checkpoint(int64_t step) {
  return absl::StrFormat("step-%06d.safetensors", step);
}

absl::Status leads_elsewhere(const std::string& path, const char* what) {
  return failed_precondition(
      "cannot write ", path, ": it is ", what,
      ", but a run writes only what is in its own folder; remove it, or put a copy of "
      "what it leads to in its place");
}

}  // namespace

absl::Status check_is_no_link(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::symlink_status(path, ignored);
  if (!fs::exists(status) || fs::is_directory(status) || fs::is_regular_file(status)) {
    return absl::OkStatus();
  }
  return leads_elsewhere(path, fs::is_symlink(status) ? "a link" : "a device or a pipe");
}

absl::StatusOr<RunFolder> RunFolder::lock(const std::string& path) {
  FileDescriptor folder = open_folder(path);
  if (!folder.is_open()) return cannot_open(path);
  // A file system without locks is no reason not to train.
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return failed_precondition(path, " is in use: another process trains into it");
  }
  RunFolder locked(path, std::move(folder));
  RETURN_IF_ERROR(locked.check_own_files());
  return locked;
}

absl::Status RunFolder::check_own_files() const {
  std::vector<std::string> own = {config(),  tokenizer(), metrics(),    samples(),
                                  profile(), trace(),     checkpoints()};
  std::error_code ignored;  // there is no such folder yet
  for (const fs::directory_entry& entry : fs::directory_iterator(own.back(), ignored)) {
    own.push_back(entry.path());
  }
  for (const std::string& path : own) {
    RETURN_IF_ERROR(check_is_no_link(path));
  }
  // These grow where they stand; the others are written anew.
  for (const std::string& path : {metrics(), samples()}) {
    if (!fs::exists(path, ignored) || fs::hard_link_count(path, ignored) == 1) continue;
    return leads_elsewhere(path, "a hard link to another file");
  }
  return absl::OkStatus();
}

bool is_in_use(const std::string& path) {
  const FileDescriptor folder = open_folder(path);
  return folder.is_open() && ::flock(folder.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

absl::StatusOr<RunFolder> RunFolder::create(const std::string& path, const Config& config) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_directory(path, error)) {
    return failed_precondition(path,
                               " is a file, but a run needs a folder; choose another with --out");
  }
  RETURN_IF_ERROR(make_folder(path));
  ASSIGN_OR_RETURN(RunFolder folder, lock(path));
  RETURN_IF_ERROR(folder.check_unused());
  RETURN_IF_ERROR(folder.remove_leftovers());
  RETURN_IF_ERROR(folder.lay_out(config));
  return folder;
}

absl::Status RunFolder::lay_out(const Config& config) const {
  RETURN_IF_ERROR(make_folder(checkpoints()));
  std::error_code ignored;
  fs::remove(tokenizer(), ignored);  // of a run that never came to its first checkpoint
  return write_file_atomically(this->config(), to_toml(config));
}

absl::StatusOr<RunFolder> RunFolder::wait_for(const std::string& path) {
  while (true) {
    RETURN_IF_ERROR(check_is_no_link(path));
    RETURN_IF_ERROR(make_folder(path));
    RunFolder folder(path, open_folder(path));
    if (!folder.lock_.is_open() && errno == ENOENT) continue;
    if (!folder.lock_.is_open()) return cannot_open(path);
    ::flock(folder.lock_.get(), LOCK_EX);
    // Whoever held it may have removed it: then another stands there, or none.
    const absl::StatusOr<bool> moved = folder.follow();
    if (moved.ok() && !*moved) return folder;
  }
}

absl::Status RunFolder::begin_anew(const Config& config) const {
  std::error_code error;
  for (fs::directory_iterator i(path_, error), end; !error && i != end; i.increment(error)) {
    fs::remove_all(i->path(), error);
    if (error) break;
  }
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot empty ", path_));
  return lay_out(config);
}

// Nothing is mixed with another run, or with anything else.
absl::Status RunFolder::check_unused() const {
  ASSIGN_OR_RETURN(const std::vector<std::string> found, contents(path_));
  ASSIGN_OR_RETURN(const std::string checkpoint, newest_checkpoint());
  if (!checkpoint.empty()) {
    return failed_precondition(
        path_,
        " holds another run; continue it with --resume, choose another folder with "
        "--out, or remove it");
  }
  if (std::count(found.begin(), found.end(), "config.toml") == 0 && !found.empty()) {
    return failed_precondition(path_, " is not empty and holds no run (there is ", found.front(),
                               "); choose another folder with --out");
  }
  for (const std::string& path : {metrics(), samples()}) {
    ASSIGN_OR_RETURN(const bool unused, is_unused_file(path));
    if (unused) continue;
    return failed_precondition(
        path, " belongs to another run, whose checkpoints are gone; choose another folder ",
        "with --out, or remove ", path_);
  }
  return absl::OkStatus();
}

absl::Status RunFolder::remove_leftovers() const {
  RETURN_IF_ERROR(remove_temporary_files(path_));
  return remove_temporary_files(checkpoints());
}

absl::StatusOr<RunFolder> RunFolder::resume(const std::string& path) {
  ASSIGN_OR_RETURN(const bool begun, is_file(in(path, "config.toml")));
  if (!begun) {
    return not_found(path, is_folder(path) ? " holds no run" : " is not the folder of a run",
                     " to continue; leave out --resume to start one");
  }
  ASSIGN_OR_RETURN(RunFolder folder, lock(path));
  ASSIGN_OR_RETURN(const std::string checkpoint, folder.newest_checkpoint());
  if (checkpoint.empty()) {
    return not_found(path,
                     " holds no checkpoint to continue from; leave out --resume to start anew");
  }
  RETURN_IF_ERROR(folder.remove_leftovers());
  return folder;
}

absl::StatusOr<bool> RunFolder::follow() {
  struct stat there, locked;
  if (::fstat(lock_.get(), &locked) != 0) return cannot_read(path_, errno);
  const bool stands = ::stat(path_.c_str(), &there) == 0 && there.st_dev == locked.st_dev &&
                      there.st_ino == locked.st_ino;
  if (stands) return false;
  std::error_code error;
  const fs::path now = fs::read_symlink(absl::StrCat("/proc/self/fd/", lock_.get()), error);
  if (locked.st_nlink == 0 || error) {
    return absl::AbortedError(
        absl::StrCat(path_, " was removed while the run trained into it; nothing is left"));
  }
  path_ = now;
  return true;
}

std::string RunFolder::file(const char* name) const { return in(path_, name); }

std::string RunFolder::checkpoint(int64_t step) const {
  return in(checkpoints(), name_of_checkpoint(step));
}

absl::StatusOr<std::string> RunFolder::newest_checkpoint() const {
  for (const std::string& path : {last_checkpoint(), best_checkpoint()}) {
    ASSIGN_OR_RETURN(const bool exists, is_file(path));
    if (exists) return path;
  }
  const std::vector<std::string> numbered = numbered_checkpoints(path_);
  return numbered.empty() ? "" : numbered.back();
}

std::vector<std::string> numbered_checkpoints(const std::string& run) {
  std::map<int64_t, std::string> by_step;
  std::error_code ignored;  // there is no such folder
  for (const fs::directory_entry& entry : fs::directory_iterator(in(run, "checkpoints"), ignored)) {
    const std::string name = entry.path().filename();
    int64_t step = 0;
    if (std::sscanf(name.c_str(), "step-%" SCNd64, &step) != 1) continue;
    if (name == name_of_checkpoint(step)) by_step[step] = entry.path();
  }
  return each_of(by_step, [](const auto& checkpoint) { return checkpoint.second; });
}

absl::StatusOr<std::string> find_checkpoint(const std::string& run) {
  std::error_code error;
  const fs::file_status status = fs::status(run, error);
  if (!fs::status_known(status)) return cannot_read(run, error.value());
  if (!fs::exists(status)) {
    const std::string in_runs = in("runs", run);
    return not_found(run, ": no such run or checkpoint",
                     is_folder(in_runs) ? absl::StrCat("; did you mean ", in_runs, "?") : "");
  }
  if (!fs::is_directory(status)) return run;
  for (const char* name : {"checkpoints/best.safetensors", "checkpoints/last.safetensors"}) {
    ASSIGN_OR_RETURN(const bool exists, is_file(in(run, name)));
    if (exists) return in(run, name);
  }
  ASSIGN_OR_RETURN(const bool begun, is_file(in(run, "config.toml")));
  const bool is_foreign = !begun && is_file(in(run, "config.json")).value_or(false);
  return not_found(run, begun ? " holds no checkpoint yet" : " holds no run",
                   is_foreign ? absl::StrCat("; if it is a model of another program, qkv import ",
                                             run, " makes a run of it")
                              : "");
}

}  // namespace qkv
