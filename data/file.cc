#include "data/file.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "framework/core/random.h"
#include "framework/core/text/mistakes.h"
#include "framework/core/text/utf8.h"
#include "framework/io/large_file.h"

namespace qkv {
namespace {

using namespace std::string_view_literals;

// How many bytes at the front of `text` are ASCII, or a few less.
size_t ascii_length(std::string_view text) {
  size_t length = 0;
  for (uint64_t word = 0; length + sizeof word <= text.size(); length += sizeof word) {
    std::memcpy(&word, text.data() + length, sizeof word);
    if ((word & 0x8080808080808080) != 0) break;
  }
  return length;
}

// A "\r" and the "\n" after it are one.
int64_t line_ends_in(std::string_view text) {
  int64_t ends = std::ranges::count(text, '\n');
  for (size_t at = text.find('\r'); at != text.npos; at = text.find('\r', at + 1)) {
    ends += at + 1 >= text.size() || text[at + 1] != '\n';
  }
  return ends;
}

// The name that iconv has for an encoding of two or four bytes; "": it is none. A mark tells it, or
// that of all letters of Latin script the other bytes are 0.
std::string wide_encoding(std::string_view begin) {
  if (begin.starts_with("\xFF\xFE\0\0"sv) || begin.starts_with("\0\0\xFE\xFF"sv)) return "UTF-32";
  if (begin.starts_with("\xFF\xFE"sv) || begin.starts_with("\xFE\xFF"sv)) return "UTF-16";
  const size_t units = begin.size() / 4;
  size_t zeros[4] = {};
  for (size_t i = 0; i < 4 * units; ++i) zeros[i % 4] += begin[i] == '\0';
  const size_t often = (units + 1) / 2;
  if (units == 0) return "";
  if (zeros[2] == units && zeros[3] == units && zeros[0] == 0) return "UTF-32LE";
  if (zeros[0] == units && zeros[1] == units && zeros[3] == 0) return "UTF-32BE";
  if (zeros[1] >= often && zeros[3] >= often && zeros[0] + zeros[2] == 0) return "UTF-16LE";
  if (zeros[0] >= often && zeros[2] >= often && zeros[1] + zeros[3] == 0) return "UTF-16BE";
  return "";
}

constexpr int64_t kListedMistakes = 20;

}  // namespace

std::string kind_of_file(std::string_view begin) {
  struct Kind {
    size_t place;
    std::string_view mark;
    const char* name;
  };
  constexpr Kind kKinds[] = {
      {0, "\x89PNG", "a PNG image"},  {0, "\xFF\xD8\xFF", "a JPEG image"},
      {8, "WEBP", "a WebP image"},    {4, "ftyp", "a HEIC, AVIF or MP4 file"},
      {0, "GIF8", "a GIF image"},     {0, "II*", "a TIFF image"},
      {0, "MM\0*"sv, "a TIFF image"}, {0, "BM", "a BMP image"},
      {0, "%PDF-", "a PDF document"}, {0, "PK\x03\x04", "a ZIP archive"},
      {0, "\x1F\x8B", "a gzip file"}};
  for (const auto& [place, mark, name] : kKinds) {
    if (begin.size() > place && begin.substr(place).starts_with(mark)) return name;
  }
  return "";
}

std::string other_than_text(std::string_view begin) {
  begin = begin.substr(0, 4096);
  if (const std::string wide = wide_encoding(begin); !wide.empty()) {
    return absl::StrCat("is ", wide, ", not UTF-8; convert it with iconv -f ", wide,
                        " -t UTF-8 FILE > NEW");
  }
  const std::string_view whole = begin.substr(0, begin.size() - unfinished_length(begin));
  if (is_utf8(whole) && begin.find('\0') == begin.npos) return "";
  if (const std::string kind = kind_of_file(begin); !kind.empty()) {
    return absl::StrCat("is ", kind, ", not a text in UTF-8");
  }
  return is_utf8(whole) || begin.find('\0') == begin.npos ? "" : "is not text: it has bytes 0";
}

size_t first_not_utf8(std::string_view text) {
  for (size_t place = 0; place < text.size();) {
    if (const size_t ascii = ascii_length(text.substr(place)); ascii > 0) {
      place += ascii;
      continue;
    }
    const size_t length = code_point_length(text.substr(place));
    if (length == 0) return place;
    place += length;
  }
  return std::string_view::npos;
}

bool is_blank(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return absl::ascii_isspace(c); });
}

std::string no_utf8(char byte, uint64_t offset) {
  return absl::StrFormat(
      "is not UTF-8: byte 0x%02X at offset %d; iconv can convert it, for example from Latin-1: "
      "iconv -f latin1 -t utf-8",
      static_cast<unsigned char>(byte), offset);
}

std::string nfc(std::string_view utf8) {
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(utf8.data()),
                   static_cast<utf8proc_ssize_t>(utf8.size()), &made,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> freed(made, &std::free);
  if (length < 0) return std::string(utf8);
  return std::string(reinterpret_cast<const char*>(made), static_cast<size_t>(length));
}

TextPieces::TextPieces(std::string path, FileDescriptor file, size_t piece_bytes, Bytes bytes)
    : path_(std::move(path)), file_(std::move(file)), piece_bytes_(piece_bytes), bytes_(bytes) {}

absl::StatusOr<TextPieces> TextPieces::open(const std::string& path, size_t piece_bytes,
                                            Bytes bytes) {
  ASSIGN_OR_RETURN(FileDescriptor file, open_regular_file(path));
  return TextPieces(path, std::move(file), piece_bytes, bytes);
}

absl::Status TextPieces::check_utf8() const {
  const size_t place = first_not_utf8(piece_);
  if (place == std::string::npos) return absl::OkStatus();
  const int64_t line = line_ + line_ends_in(std::string_view(piece_).substr(0, place));
  return invalid_argument(path_, ":", line, ": ", no_utf8(piece_[place], offset_ + place));
}

absl::StatusOr<std::string_view> TextPieces::next() {
  while (!at_end_) {
    piece_ = held_;
    piece_.resize(held_.size() + piece_bytes_);
    ASSIGN_OR_RETURN(const size_t got,
                     read_next(path_, file_, std::span(piece_).subspan(held_.size())));
    at_end_ = got < piece_bytes_;
    piece_.resize(held_.size() + got);
    const size_t kept = at_end_ ? 0 : piece_.ends_with('\r') ? 1 : unfinished_length(piece_);
    held_ = piece_.substr(piece_.size() - kept);
    piece_.resize(piece_.size() - kept);
    const bool is_first = offset_ == 0;
    const std::string other = is_first ? other_than_text(piece_) : "";
    if (!other.empty()) return invalid_argument(path_, ": ", other);
    RETURN_IF_ERROR(check_utf8());

    offset_ += piece_.size();
    line_ += line_ends_in(piece_);
    if (bytes_ == Bytes::kAsIs && !piece_.empty()) return piece_;
    if (is_first && piece_.starts_with(kByteOrderMark)) piece_.erase(0, kByteOrderMark.size());
    if (piece_.find('\r') != std::string::npos) {
      absl::StrReplaceAll({{"\r\n", "\n"}, {"\r", "\n"}}, &piece_);
    }
    if (!piece_.empty()) return piece_;
  }
  return "";
}

int64_t characters_in(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
}

std::string fingerprint_of(std::string_view text) {
  return absl::StrFormat("%016x", stable_hash(text));
}

std::vector<std::string> split_paths(const std::string& paths) {
  if (paths.empty()) return {};
  return absl::StrSplit(paths, '\n');
}

std::string join_paths(const std::vector<std::string>& paths) { return absl::StrJoin(paths, "\n"); }

std::string paths_to_show(const std::string& paths) { return listed(split_paths(paths)); }

void FileMistakes::keep(Mistake mistake) {
  if (++count_ <= kListedMistakes) mistakes_.push_back(std::move(mistake));
}

absl::Status FileMistakes::status() const {
  if (empty()) return absl::OkStatus();
  std::vector<Mistake> mistakes = mistakes_;
  std::ranges::stable_sort(mistakes, {}, [](const Mistake& m) { return std::tie(m.path, m.line); });
  std::vector<std::string> lines;
  for (const auto& [path, line, what] : mistakes) {
    lines.push_back(line == 0 ? absl::StrCat(path, ": ", what)
                              : absl::StrCat(path, ":", line, ": ", what));
  }
  if (count_ > kListedMistakes) {
    lines.push_back(absl::StrCat("… and ", count_ - kListedMistakes, " more like these"));
  }
  return mistakes_error(lines);
}

}  // namespace qkv
