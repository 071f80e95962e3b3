#include "data/file.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "framework/core/random.h"
#include "framework/core/utf8.h"
#include "framework/io/files.h"
#include "framework/io/large_file.h"

namespace qkv {
namespace {

// How many bytes at the front of `text` are ASCII, or a few less.
size_t ascii_length(std::string_view text) {
  size_t length = 0;
  for (uint64_t word = 0; length + sizeof word <= text.size(); length += sizeof word) {
    std::memcpy(&word, text.data() + length, sizeof word);
    if ((word & 0x8080808080808080) != 0) break;
  }
  return length;
}

}  // namespace

TextPieces::TextPieces(std::string path, FileDescriptor file, size_t piece_bytes)
    : path_(std::move(path)), file_(std::move(file)), piece_bytes_(piece_bytes) {}

absl::StatusOr<TextPieces> TextPieces::open(const std::string& path, size_t piece_bytes) {
  absl::StatusOr<FileDescriptor> file = open_regular_file(path);
  if (!file.ok()) return file.status();
  return TextPieces(path, *std::move(file), piece_bytes);
}

absl::Status TextPieces::check_utf8() const {
  const std::string_view text = piece_;
  for (size_t place = 0; place < text.size();) {
    if (const size_t ascii = ascii_length(text.substr(place)); ascii > 0) {
      place += ascii;
      continue;
    }
    const size_t length = code_point_length(text.substr(place));
    if (length == 0) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s:%d: is not UTF-8: byte 0x%02X at offset %d; iconv can convert it, for example from "
          "Latin-1: iconv -f latin1 -t utf-8",
          path_, line_ + std::count(piece_.data(), piece_.data() + place, '\n'),
          static_cast<unsigned char>(text[place]), offset_ + place));
    }
    place += length;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string_view> TextPieces::next() {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  while (!at_end_) {
    piece_ = held_;
    piece_.resize(held_.size() + piece_bytes_);
    const absl::StatusOr<size_t> got =
        read_next(path_, file_, std::span(piece_).subspan(held_.size()));
    if (!got.ok()) return got.status();
    at_end_ = *got < piece_bytes_;
    piece_.resize(held_.size() + *got);
    const size_t kept = at_end_ ? 0 : piece_.ends_with('\r') ? 1 : unfinished_length(piece_);
    held_ = piece_.substr(piece_.size() - kept);
    piece_.resize(piece_.size() - kept);
    if (absl::Status status = check_utf8(); !status.ok()) return status;

    const bool is_first = offset_ == 0;
    offset_ += piece_.size();
    line_ += std::ranges::count(piece_, '\n');
    if (is_first && piece_.starts_with(kByteOrderMark)) piece_.erase(0, kByteOrderMark.size());
    if (piece_.find('\r') != std::string::npos) absl::StrReplaceAll({{"\r\n", "\n"}}, &piece_);
    if (!piece_.empty()) return piece_;
  }
  return "";
}

absl::StatusOr<std::string> read_text(const std::string& path) {
  absl::StatusOr<TextPieces> pieces = TextPieces::open(path);
  if (!pieces.ok()) return pieces.status();
  std::string text;
  while (true) {
    const absl::StatusOr<std::string_view> piece = pieces->next();
    if (!piece.ok()) return piece.status();
    if (piece->empty()) break;
    text += *piece;
  }
  if (text.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": is empty"));
  return text;
}

int64_t characters_in(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
}

std::string fingerprint_of(std::string_view text) {
  return absl::StrFormat("%016x", stable_hash(text));
}

}  // namespace qkv
