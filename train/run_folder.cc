#include "train/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "train/config.h"
#include "train/files.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

absl::Status folder_error(const std::string& path, const std::error_code& error) {
  return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make the folder ", path));
}

// What stands in the folder, by name, without folders that are empty: a create() that a full disk
// stopped leaves nothing else behind.
absl::StatusOr<std::vector<std::string>> contents(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator i(path, error), end; !error && i != end; i.increment(error)) {
    std::error_code ignored;
    if (i->is_directory(ignored) && fs::is_empty(i->path(), ignored)) continue;
    names.push_back(i->path().filename().string());
  }
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot read ", path));
  std::sort(names.begin(), names.end());
  return names;
}

bool is_regular(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::string in(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).string();
}

}  // namespace

absl::StatusOr<RunFolder> RunFolder::lock(const std::string& path) {
  FileDescriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  // A file system without locks is no reason not to train.
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is in use: another process trains into it"));
  }
  return RunFolder(path, std::move(folder));
}

absl::StatusOr<RunFolder> RunFolder::create(const std::string& path, const Config& config) {
  std::error_code error;
  if (fs::exists(path, error) && !is_folder(path)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is a file, where a run needs a folder; choose another by --out"));
  }
  fs::create_directories(path, error);
  if (error) return folder_error(path, error);

  absl::StatusOr<RunFolder> folder = lock(path);
  if (!folder.ok()) return folder;
  const absl::StatusOr<std::vector<std::string>> found = contents(path);
  if (!found.ok()) return found.status();
  const bool begun = std::count(found->begin(), found->end(), "config.toml") != 0;
  if (begun && is_regular(folder->newest_checkpoint())) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, " holds another run; go on with it by --resume, choose another folder by --out, or ",
        "remove it"));
  }
  if (!begun && !found->empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not empty and holds no run (there is ", found->front(),
                     "); choose another folder by --out"));
  }

  fs::create_directories(in(path, "checkpoints"), error);
  if (error) return folder_error(in(path, "checkpoints"), error);
  const absl::Status written = write_file_atomically(folder->config(), to_toml(config));
  if (!written.ok()) return written;
  return folder;
}

absl::StatusOr<RunFolder> RunFolder::resume(const std::string& path) {
  if (!is_regular(in(path, "config.toml"))) {
    return absl::NotFoundError(
        absl::StrCat(path, is_folder(path) ? " holds no run" : " is no folder of a run",
                     " to go on with; leave --resume out to start one"));
  }
  absl::StatusOr<RunFolder> folder = lock(path);
  if (!folder.ok()) return folder;
  if (!is_regular(folder->newest_checkpoint())) {
    return absl::NotFoundError(
        absl::StrCat(path, " holds no checkpoint to go on from; leave --resume out to begin anew"));
  }
  return folder;
}

std::string RunFolder::config() const { return in(path_, "config.toml"); }
std::string RunFolder::metrics() const { return in(path_, "metrics.jsonl"); }
std::string RunFolder::samples() const { return in(path_, "samples.txt"); }
std::string RunFolder::profile() const { return in(path_, "profile.txt"); }
std::string RunFolder::trace() const { return in(path_, "trace.json"); }
std::string RunFolder::last_checkpoint() const { return in(path_, "checkpoints/last.safetensors"); }
std::string RunFolder::newest_checkpoint() const {
  return is_regular(last_checkpoint()) || !is_regular(best_checkpoint()) ? last_checkpoint()
                                                                         : best_checkpoint();
}
std::string RunFolder::best_checkpoint() const { return in(path_, "checkpoints/best.safetensors"); }
std::string RunFolder::checkpoint(int64_t step) const {
  return in(path_, absl::StrFormat("checkpoints/step-%06d.safetensors", step));
}

absl::StatusOr<std::string> find_checkpoint(const std::string& run) {
  if (!is_folder(run)) {
    std::error_code ignored;
    if (fs::exists(run, ignored)) return run;
    const std::string usual = in("runs", run);
    return absl::NotFoundError(
        absl::StrCat(run, ": no such run or checkpoint",
                     is_folder(usual) ? absl::StrCat("; did you mean ", usual, "?") : ""));
  }
  for (const char* name : {"checkpoints/best.safetensors", "checkpoints/last.safetensors"}) {
    if (is_regular(in(run, name))) return in(run, name);
  }
  return absl::NotFoundError(absl::StrCat(
      run, is_regular(in(run, "config.toml")) ? " holds no checkpoint yet" : " holds no run"));
}

}  // namespace qkv
