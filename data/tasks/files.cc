#include "data/tasks/files.h"

#include <algorithm>

#include "data/file_mistakes.h"

namespace qkv {

absl::StatusOr<std::vector<int64_t>> encode_lines(const std::string& path, std::string_view text,
                                                  const Vocabulary& vocabulary) {
  absl::StatusOr<std::vector<int64_t>> whole = vocabulary.encode(text);
  if (whole.ok()) return whole;
  FileMistakes mistakes;
  std::vector<int64_t> tokens;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;  // after the line
    const auto line = vocabulary.encode(text.substr(0, end));
    text.remove_prefix(end);
    if (line.ok()) {
      tokens.insert(tokens.end(), line->begin(), line->end());
    } else {
      mistakes.add(path, number, std::string(line.status().message()));
    }
  }
  if (!mistakes.empty()) return mistakes.status();
  return tokens;
}

}  // namespace qkv
