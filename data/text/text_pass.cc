#include "data/text/text_pass.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "framework/core/text/mistakes.h"

namespace qkv {
namespace {

absl::Status read_failure(const std::string& path, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot read ", path));
}

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

SourceFile described(const std::string& path, const struct stat& status) {
  const int64_t written = nanoseconds(status.st_mtim), changed = nanoseconds(status.st_ctim);
  return {.path = path,
          .bytes = status.st_size,
          .state = absl::StrCat(status.st_dev, " ", status.st_ino, " ", status.st_size, " ",
                                written, " ", changed),
          .changed = std::max(written, changed)};
}

absl::Status add_folder(const std::string& folder, SourceFiles& found) {
  std::error_code error;
  std::vector<std::string> paths;
  for (std::filesystem::directory_iterator i(folder, error), end; !error && i != end;
       i.increment(error)) {
    paths.push_back(i->path().string());
  }
  if (error) return read_failure(folder, error.value());
  std::ranges::sort(paths);
  for (const std::string& path : paths) {
    struct stat link, status;
    if (std::filesystem::path(path).filename().string().starts_with('.')) {
      found.left_out.push_back(absl::StrCat(path, " (hidden)"));
    } else if (::lstat(path.c_str(), &link) != 0 || ::stat(path.c_str(), &status) != 0) {
      return read_failure(path, errno);
    } else if (S_ISREG(status.st_mode)) {
      found.files.push_back(described(path, status));
    } else if (S_ISDIR(link.st_mode)) {
      RETURN_IF_ERROR(add_folder(path, found));
    } else {
      // A link to a folder may lead back to where it stands.
      found.left_out.push_back(absl::StrCat(
          path, S_ISDIR(status.st_mode) ? " (a link to a folder)" : " (not a regular file)"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

int64_t SourceFiles::bytes() const {
  int64_t sum = 0;
  for (const SourceFile& file : files) sum += file.bytes;
  return sum;
}

std::vector<std::string> notes_on_left_out(std::initializer_list<const SourceFiles*> parts) {
  std::vector<std::string> notes;
  for (const SourceFiles* part : parts) {
    if (part->left_out.empty()) continue;
    notes.push_back(absl::StrCat("left out of the text: ", listed(part->left_out)));
  }
  return notes;
}

absl::StatusOr<SourceFiles> find_source_files(const std::string& paths) {
  SourceFiles found;
  for (const std::string& path : split_paths(paths)) {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0) return read_failure(path, errno);
    if (!S_ISDIR(status.st_mode)) {
      found.files.push_back(described(path, status));  // only a regular file can be opened
      continue;
    }
    const size_t before = found.files.size();
    RETURN_IF_ERROR(add_folder(path, found));
    if (found.files.size() == before) {
      return invalid_argument(path, ": this folder has no file to read");
    }
  }
  return found;
}

absl::Status TextPasses::read_file(const std::string& path, Take take) {
  ASSIGN_OR_RETURN(TextPieces pieces, TextPieces::open(path, piece_bytes_, kept_));
  const int64_t before = done_;
  while (true) {
    if (wait_.stop.stop_requested()) {
      return absl::CancelledError(absl::StrCat("the reading of ", what_, " was stopped"));
    }
    ASSIGN_OR_RETURN(const std::string_view piece, pieces.next());
    if (piece.empty()) return absl::OkStatus();
    RETURN_IF_ERROR(take(piece));
    done_ = before + static_cast<int64_t>(pieces.bytes_read());
    if (wait_.tell && bytes_ > 0) {
      const double share = static_cast<double>(done_) / static_cast<double>(bytes_);
      wait_.tell(absl::StrCat("reading ", what_), std::min(share, 1.0));
    }
  }
}

absl::Status TextPasses::read(const SourceFiles& files, Take take,
                              absl::FunctionRef<void()> begin_file) {
  constexpr size_t kListed = 20;
  std::vector<absl::Status> mistakes;
  size_t more = 0;
  for (const SourceFile& file : files.files) {
    begin_file();
    absl::Status status = read_file(file.path, take);
    if (absl::IsCancelled(status)) return status;
    if (status.ok()) continue;
    mistakes.size() < kListed ? mistakes.push_back(status) : void(++more);
  }
  if (more > 0) {
    mistakes.push_back(invalid_argument("… and ", more, " more like these"));
  }
  return all_mistakes(mistakes);
}

absl::Status TextPasses::read_lines(const SourceFiles& files, TakeLine take) {
  for (const SourceFile& file : files.files) {
    std::string line;
    int64_t number = 1;
    absl::Status status = read_file(file.path, [&](std::string_view piece) {
      while (!piece.empty()) {
        const size_t end = piece.find('\n');
        line += piece.substr(0, end == piece.npos ? end : end + 1);
        if (end == piece.npos) break;
        take(file.path, number++, line);
        line.clear();
        piece.remove_prefix(end + 1);
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    if (!line.empty()) take(file.path, number, line);
  }
  return absl::OkStatus();
}

}  // namespace qkv
