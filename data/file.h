#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "framework/core/status.h"
#include "framework/io/files.h"

namespace qkv {

// The reading of a large text tells how far it is, a share of 0 … 1, and ends with a Cancelled
// error where a stop is requested.
struct Wait {
  std::function<void(const std::string& what, double share)> tell = nullptr;
  std::stop_token stop = {};
};

// Whether a text is read for its characters: without a byte order mark, and every line end, "\r",
// "\n" or both, is "\n"; or as it is.
enum class Bytes { kAsText, kAsIs };

// The text of a file, piece by piece: valid UTF-8. Anything else is an error that names the file,
// and for bad UTF-8 the byte and the line.
class TextPieces {
 public:
  static constexpr size_t kPieceBytes = 1 << 20;
  static absl::StatusOr<TextPieces> open(const std::string& path, size_t piece_bytes = kPieceBytes,
                                         Bytes bytes = Bytes::kAsText);

  // The next whole characters, until the next call; "" at the end.
  absl::StatusOr<std::string_view> next();
  uint64_t bytes_read() const { return offset_; }  // of the file

 private:
  TextPieces(std::string path, FileDescriptor file, size_t piece_bytes, Bytes bytes);
  absl::Status check_utf8() const;

  std::string path_;
  FileDescriptor file_;
  size_t piece_bytes_;
  Bytes bytes_;
  std::string piece_;
  std::string held_;     // the beginning of a character, or of "\r\n", at the end so far
  uint64_t offset_ = 0;  // of the next byte, in the file
  int64_t line_ = 1;
  bool at_end_ = false;
};

int64_t characters_in(std::string_view text);  // of valid UTF-8

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The kind of a file by its first bytes: "a WebP image"; "": unknown.
std::string kind_of_file(std::string_view begin);

// A file's kind, by its beginning, if not UTF-8: "is UTF-16, not UTF-8; …". "": it may be UTF-8.
std::string other_than_text(std::string_view begin);
// The place of the first byte that is not UTF-8; npos: none. And what is wrong with it.
size_t first_not_utf8(std::string_view text);
std::string no_utf8(char byte, uint64_t offset);

bool is_blank(std::string_view text);  // nothing but white space

// In Unicode's normal form NFC, in which texts that look alike are alike.
std::string nfc(std::string_view utf8);

// 16 digits that tell a text from others, the same on every machine.
std::string fingerprint_of(std::string_view text);

// data.path may be a list. One text holds it, with a path on each line: no path of a config has a
// line end.
std::vector<std::string> split_paths(const std::string& paths);
std::string join_paths(const std::vector<std::string>& paths);
inline bool is_list_of_paths(const std::string& paths) {
  return paths.find('\n') != std::string::npos;
}

std::string paths_to_show(const std::string& paths);  // "a.txt, b.txt"

// Collects the mistakes in the user's files, each with its line: FILE:LINE: WHAT. Line 0 is the
// whole file: FILE: WHAT.
class FileMistakes {
 public:
  template <class... Parts>
  void add(std::string_view path, int64_t line, const Parts&... what) {
    keep({std::string(path), line, absl::StrCat(what...)});
  }
  bool empty() const { return count_ == 0; }

  // All of them as one error, a line each, in the order of their lines; of more than 20
  // those that were found first, and how many more there are.
  absl::Status status() const;

 private:
  struct Mistake {
    std::string path;
    int64_t line;
    std::string what;
  };
  void keep(Mistake mistake);

  std::vector<Mistake> mistakes_;
  int64_t count_ = 0;
};

}  // namespace qkv
