#include "framework/core/text/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "framework/core/text/columns.h"
#include "framework/core/text/utf8.h"

namespace qkv {
namespace {

constexpr int64_t kUsualColumns = 80;
constexpr std::string_view kBold = "\x1b[1m", kGreen = "\x1b[32m", kRed = "\x1b[31m",
                           kPlain = "\x1b[0m";

// The value of an environment variable; "" where it is not set.
std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A highlighted part of a text.
struct Mark {
  std::string_view text, colour;
};
constexpr std::array kMarks = {Mark{"✓", kGreen},      Mark{"PASS", kGreen},
                               Mark{"✗", kRed},        Mark{"FAIL", kRed},
                               Mark{"SURVIVED", kRed}, Mark{"not passed", kRed}};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Whether there is no letter beside the `length` bytes at `at`.
bool stands_alone(std::string_view text, size_t at, size_t length) {
  const size_t end = at + length;
  return (at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end]));
}

std::string in_colour(std::string_view text, std::string_view colour) {
  return std::string(colour).append(text).append(kPlain);
}

std::string with_verdicts(std::string_view line) {
  std::string result;
  for (size_t i = 0; i < line.size();) {
    const auto* const found = std::ranges::find_if(kMarks, [&](const Mark& mark) {
      return line.substr(i).starts_with(mark.text) && stands_alone(line, i, mark.text.size());
    });
    if (found == kMarks.end()) {
      result += line[i++];
    } else {
      result += in_colour(found->text, found->colour);
      i += found->text.size();
    }
  }
  return result;
}

// Open MPI gives each rank a terminal of its own as standard output, and passes on what comes
// there. The rank is a child of mpirun, or on another machine of a daemon, which has no terminal.
bool mpirun_has_terminal() {
  std::error_code ignored;
  const std::string output =
      std::filesystem::read_symlink(
          "/proc/" + std::to_string(getppid()) + "/fd/" + std::to_string(STDOUT_FILENO), ignored)
          .string();
  return output.starts_with("/dev/pts/") || output.starts_with("/dev/tty");
}

std::string folded_line(std::string_view line, int64_t columns) {
  if (text_width(line) <= columns) return std::string(line) + "\n";
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const size_t gap = line.rfind("  ");
  const bool has_columns = gap != std::string_view::npos && gap > indent;
  size_t begin = has_columns ? gap + 2 : indent;  // of the folded rest
  int64_t next = text_width(line.substr(0, begin)) + (has_columns ? 0 : 2);
  if (next > columns / 2) {
    begin = indent;
    next = std::min<int64_t>(static_cast<int64_t>(indent) + 2, columns / 2);
  }
  return wrapped(line.substr(begin), columns, line.substr(0, begin),
                 std::string(static_cast<size_t>(next), ' '));
}

// Calls `take` with every line of a text, without its end.
template <class Take>
void for_each_line(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    take(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

bool is_terminal(std::FILE* stream) {
  if (isatty(fileno(stream)) != 1) return false;
  return stream != stdout || variable("OMPI_COMM_WORLD_RANK").empty() || mpirun_has_terminal();
}

bool takes_colours(std::FILE* stream) {
  return is_terminal(stream) && variable("TERM") != "dumb" && variable("NO_COLOR").empty();
}

int64_t columns_of(std::FILE* stream) {
  if (!is_terminal(stream)) return kUsualColumns;
  const std::string_view wanted = variable("COLUMNS");
  int64_t columns = 0;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), columns);
  if (error == std::errc() && end == wanted.data() + wanted.size() && columns > 1) return columns;
  winsize size{};
  const bool says = ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return says ? size.ws_col : kUsualColumns;
}

int64_t text_columns() { return std::min(kUsualColumns, columns_of(stdout)); }

std::string folded(std::string_view text, int64_t columns) {
  std::string lines;
  for_each_line(text, [&](std::string_view line) { lines += folded_line(line, columns); });
  if (!text.ends_with('\n') && !lines.empty()) lines.pop_back();
  return lines;
}

std::string coloured(std::string_view text, bool has_head) {
  std::string lines;
  for_each_line(text, [&](std::string_view line) {
    const bool is_head =
        (has_head && lines.empty()) || (line.starts_with('[') && line.ends_with(']'));
    lines += is_head ? in_colour(line, kBold) : with_verdicts(line);
    lines += '\n';
  });
  if (!text.ends_with('\n') && !lines.empty()) lines.pop_back();
  return lines;
}

ProgressLine::ProgressLine(std::FILE* stream)
    : stream_(stream), on_terminal_(is_terminal(stream) && variable("TERM") != "dumb") {}

void ProgressLine::show(const std::string& text) {
  if (!on_terminal_) return;
  const std::string line = first_columns(printable(text), columns_of(stream_) - 1);
  std::fprintf(stream_, "\r\x1b[K%s", line.c_str());
  std::fflush(stream_);
  shown_ = true;
}

void ProgressLine::say(const std::string& line) {
  clear();
  std::fprintf(stream_, "%s\n", folded(printable(line), columns_of(stream_)).c_str());
  std::fflush(stream_);
}

void ProgressLine::clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stream_);
  std::fflush(stream_);
  shown_ = false;
}

}  // namespace qkv
