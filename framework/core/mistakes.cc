#include "framework/core/mistakes.h"

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "framework/core/utf8.h"

namespace qkv {
namespace {

// Marks a Status whose line ends stand between mistakes.
constexpr char kLines[] = "qkv/lines";

}  // namespace

absl::Status mistakes_error(const std::vector<std::string>& mistakes, absl::StatusCode code) {
  const auto escaped = [](std::string* text, const std::string& mistake) {
    text->append(printable(mistake));
  };
  absl::Status status(code, absl::StrJoin(mistakes, "\n", escaped));
  status.SetPayload(kLines, absl::Cord());
  return status;
}

std::vector<std::string> lines_to_show(const absl::Status& status) {
  const std::string message(status.message());
  if (!status.GetPayload(kLines)) return {printable(message)};
  return absl::StrSplit(message, '\n');
}

absl::Status all_mistakes(const std::vector<absl::Status>& mistakes) {
  if (mistakes.empty()) return absl::OkStatus();
  if (mistakes.size() == 1) return mistakes.front();
  std::vector<std::string> lines;
  for (const absl::Status& mistake : mistakes) {
    for (std::string& line : lines_to_show(mistake)) lines.push_back(std::move(line));
  }
  return mistakes_error(lines, mistakes.front().code());
}

}  // namespace qkv
