#include "train/config/mistakes.h"

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

}  // namespace qkv
