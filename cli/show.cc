#include "cli/show.h"

#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "cli/verb.h"
#include "framework/core/text/terminal.h"
#include "framework/core/text/utf8.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

void show_text(const std::string& text, bool has_head) {
  const std::string lines = folded(text, columns_of(stdout));
  print(takes_colours(stdout) ? coloured(lines, has_head) : lines);
}

void say(const char* what, const char* colour, const std::string& text) {
  if (!is_terminal(stderr)) {
    std::fprintf(stderr, "%s: %s\n", what, text.c_str());
    return;
  }
  std::string line = folded(absl::StrCat(what, ": ", text), columns_of(stderr));
  if (takes_colours(stderr)) line.insert(std::string(what).size(), "\x1b[0m").insert(0, colour);
  std::fprintf(stderr, "%s\n", line.c_str());
}

namespace fs = std::filesystem;

// The first bytes of a regular file; "" of any other, and where there is none.
std::string beginning_of(const std::string& path, size_t count) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return "";
  std::string bytes(count, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

// fs::equivalent() says of no device or pipe that it is another one.
bool are_one_file(const std::string& a, const std::string& b) {
  struct stat of_a = {}, of_b = {};
  if (::stat(a.c_str(), &of_a) == 0 && ::stat(b.c_str(), &of_b) == 0) {
    return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
  }
  std::error_code error;
  return fs::weakly_canonical(fs::absolute(a), error) ==
         fs::weakly_canonical(fs::absolute(b), error);
}

}  // namespace

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void show(const std::string& text) { show_text(text, /*has_head=*/false); }
void show_table(const std::string& text) { show_text(text, /*has_head=*/true); }

void say_note(const std::string& text) { say("note", "\x1b[1m", printable(text)); }
void say_warning(const std::string& text) { say("warning", "\x1b[1m", printable(text)); }
void say_error(const std::string& text) { say("error", "\x1b[1;31m", text); }

bool prints_json(const GivenOptions& given) { return given.text("json") == "-"; }

std::string json_file(const GivenOptions& given) { return file_named(given.text("json")); }

absl::Status check_json(const GivenOptions& given, const std::string& beginning) {
  const OutputFile files[] = {{"json", json_file(given), beginning}};
  return check_outputs(files);
}

absl::Status show_or_write(const GivenOptions& given, const std::string& text,
                           const std::string& json) {
  if (!prints_json(given)) show_table(text);
  return write_json(given, json);
}

absl::Status write_json(const GivenOptions& given, const std::string& json) {
  return write_output(given.text("json"), json);
}

absl::Status check_outputs(std::span<const OutputFile> files) {
  for (size_t i = 0; i < files.size(); ++i) {
    const auto& [option, path, beginning] = files[i];
    if (path.empty()) continue;
    for (const OutputFile& other : files.first(i)) {
      if (other.path.empty() || !are_one_file(path, other.path)) continue;
      return invalid_argument("--", other.option, " and --", option, " both name the file ", path,
                              "; choose two names");
    }
    RETURN_IF_ERROR(check_can_write(path));
    const std::string found = beginning_of(path, beginning.size());
    if (found.empty() || found == beginning) continue;
    return absl::AlreadyExistsError(absl::StrCat(
        "--", option, ": ", path,
        " exists and is a file of another kind, which would be lost; choose another name"));
  }
  return absl::OkStatus();
}

absl::Status write_if_asked(const std::string& path, const std::string& text) {
  return path.empty() ? absl::OkStatus() : write_file_atomically(path, text);
}

std::string file_named(const std::string& path) { return path == "-" ? "" : path; }

absl::Status write_output(const std::string& path, const std::string& text) {
  if (path == "-") print(text);
  return path == "-" || text.empty() ? absl::OkStatus() : write_if_asked(path, text);
}

}  // namespace qkv
