#include "framework/core/text/mistakes.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "framework/core/text/utf8.h"

namespace qkv {
namespace {

// Marks a Status whose line ends stand between mistakes.
constexpr char kLines[] = "qkv/lines";

// Without its middle where it is longer; no character is cut.
std::string bounded(const std::string& text, size_t longest, size_t end = 0) {
  if (text.size() <= longest) return text;
  const auto continues = [&](size_t place) { return (text[place] & 0xC0) == 0x80; };
  size_t head = longest - end, tail = text.size() - end;
  while (head > 0 && continues(head)) --head;
  while (tail < text.size() && continues(tail)) ++tail;
  return absl::StrCat(text.substr(0, head), "…", text.substr(tail));
}

std::string bounded_line(std::string_view text) { return bounded(printable(text), 2000, 500); }

}  // namespace

std::string listed(const std::vector<std::string>& names, std::string_view between, size_t most) {
  std::string list;
  for (size_t i = 0; i < names.size() && i < most; ++i) {
    if (i > 0) list += between;
    list += bounded(printable(names[i]), 80);
  }
  if (names.size() > most) absl::StrAppend(&list, " and ", names.size() - most, " more");
  return list;
}

absl::Status mistakes_error(const std::vector<std::string>& mistakes, absl::StatusCode code) {
  const auto escaped = [](std::string* text, const std::string& mistake) {
    text->append(bounded_line(mistake));
  };
  absl::Status status(code, absl::StrJoin(mistakes, "\n", escaped));
  status.SetPayload(kLines, absl::Cord());
  return status;
}

std::vector<std::string> lines_to_show(const absl::Status& status) {
  const std::string message(status.message());
  if (!status.GetPayload(kLines)) return {bounded_line(message)};
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
