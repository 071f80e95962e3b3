#include "data/file.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "framework/core/random.h"
#include "framework/core/utf8.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

absl::Status check_utf8(const std::string& path, std::string_view text) {
  size_t line = 1;
  for (size_t place = 0; place < text.size();) {
    const size_t length = code_point_length(text.substr(place));
    if (length == 0) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s:%d: is not UTF-8: byte 0x%02X at offset %d; iconv can convert it, for example from "
          "Latin-1: iconv -f latin1 -t utf-8",
          path, line, static_cast<unsigned char>(text[place]), place));
    }
    if (text[place] == '\n') ++line;
    place += length;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> read_text(const std::string& path) {
  auto text = read_regular_file(path);
  if (!text.ok()) return text.status();
  if (absl::Status status = check_utf8(path, *text); !status.ok()) return status;

  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text->starts_with(kByteOrderMark)) text->erase(0, kByteOrderMark.size());
  absl::StrReplaceAll({{"\r\n", "\n"}}, &*text);
  if (text->empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": is empty"));
  return text;
}

std::string fingerprint_of(std::string_view text) {
  return absl::StrFormat("%016x", stable_hash(text));
}

}  // namespace qkv
