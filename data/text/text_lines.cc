#include "data/text/text_lines.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "data/file.h"
#include "data/paths.h"
#include "data/text/text_pass.h"

namespace qkv {

absl::StatusOr<TextOfLines> read_text_of_lines(const std::string& paths, const Wait& wait) {
  absl::StatusOr<SourceFiles> files = find_source_files(paths);
  if (!files.ok()) return files.status();
  TextOfLines read{.text = "", .files = *std::move(files), .begins = {}};
  TextPasses passes(paths_to_show(paths), wait, TextPieces::kPieceBytes, read.files.bytes());
  const auto begin_file = [&] {
    if (!read.text.empty() && !read.text.ends_with('\n')) read.text += '\n';
    read.begins.push_back(read.text.size());
  };
  const auto take = [&](std::string_view piece) {
    read.text += piece;
    return absl::OkStatus();
  };
  if (absl::Status status = passes.read(read.files, take, begin_file); !status.ok()) return status;
  if (!read.text.empty()) return read;
  return absl::InvalidArgumentError(absl::StrCat(paths_to_show(paths), ": is empty"));
}

std::vector<LineOfFile> lines_of(const TextOfLines& read) {
  std::vector<LineOfFile> lines;
  for (size_t file = 0; file < read.begins.size(); ++file) {
    const size_t begin = read.begins[file];
    const size_t end = file + 1 < read.begins.size() ? read.begins[file + 1] : read.text.size();
    std::string_view text = std::string_view(read.text).substr(begin, end - begin);
    for (int64_t number = 1; !text.empty(); ++number) {
      const size_t length = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, length);
      text.remove_prefix(std::min(length + 1, text.size()));
      const auto is_space = [](unsigned char c) { return absl::ascii_isspace(c); };
      if (std::ranges::all_of(line, is_space)) continue;
      lines.push_back({line, read.files.files[file].path, number});
    }
  }
  return lines;
}

}  // namespace qkv
