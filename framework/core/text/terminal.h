#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

// Properties of the terminal that a stream may lead to, and texts for one.
namespace qkv {

bool is_terminal(std::FILE* stream);

// Colours for a terminal that has some, unless its owner wants none (https://no-color.org).
bool takes_colours(std::FILE* stream);

// The columns of a line: the terminal's, or COLUMNS where that is set; 80 without a terminal.
int64_t columns_of(std::FILE* stream);

// How wide a text for standard output may be: 80 columns, which are good to read, or less where
// the terminal has less.
int64_t text_columns();

// `text` with each line wider than `columns` folded between words: the rest begins under the last
// column of a table, or is indented by two columns more.
std::string folded(std::string_view text, int64_t columns);

// `text` with the marks and words of verdicts in green and red (✓ PASS, ✗ FAIL), and the names of
// tables, "[model]", in bold; the first line, too, if it is the head of a table.
std::string coloured(std::string_view text, bool has_head);

// Progress callback of a long operation: what it does, and how far it is.
using TellProgress = std::function<void(const std::string& what)>;
inline void tell_nobody(const std::string& /*what*/) {}

// Lines that stay, and on a terminal one below them that is written over. Both are escaped
// (utf8.h).
class ProgressLine {
 public:
  explicit ProgressLine(std::FILE* stream);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool on_terminal() const { return on_terminal_; }
  int64_t columns() const { return columns_of(stream_); }
  // Cut to the width of the terminal, as it can be written over only where it is one line. Without
  // a terminal nothing.
  void show(const std::string& text);
  void say(const std::string& line);  // one that stays; folded
  void clear();

 private:
  std::FILE* stream_;
  bool on_terminal_, shown_ = false;
};

}  // namespace qkv
