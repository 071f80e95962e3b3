#include "data/text/text_pass.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/core/mistakes.h"

namespace qkv {

absl::Status TextPasses::read_file(const std::string& path, Take take) {
  absl::StatusOr<TextPieces> pieces = TextPieces::open(path, piece_bytes_, kept_);
  if (!pieces.ok()) return pieces.status();
  const int64_t before = done_;
  while (true) {
    if (wait_.stop.stop_requested()) {
      return absl::CancelledError(absl::StrCat("the reading of ", what_, " was stopped"));
    }
    const absl::StatusOr<std::string_view> piece = pieces->next();
    if (!piece.ok()) return piece.status();
    if (piece->empty()) return absl::OkStatus();
    if (absl::Status status = take(*piece); !status.ok()) return status;
    done_ = before + static_cast<int64_t>(pieces->bytes_read());
    if (wait_.tell && bytes_ > 0) {
      const double share = static_cast<double>(done_) / static_cast<double>(bytes_);
      wait_.tell(absl::StrCat("reading ", what_), std::min(share, 1.0));
    }
  }
}

absl::Status TextPasses::read(const SourceFiles& files, Take take,
                              absl::FunctionRef<void()> begin_file) {
  constexpr size_t kTold = 20;
  std::vector<absl::Status> mistakes;
  size_t more = 0;
  for (const SourceFile& file : files.files) {
    begin_file();
    absl::Status status = read_file(file.path, take);
    if (absl::IsCancelled(status)) return status;
    if (status.ok()) continue;
    mistakes.size() < kTold ? mistakes.push_back(status) : void(++more);
  }
  if (more > 0) {
    mistakes.push_back(
        absl::InvalidArgumentError(absl::StrCat("… and ", more, " more like these")));
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
