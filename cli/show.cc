#include "cli/show.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "cli/output_files.h"
#include "cli/verb.h"
#include "framework/core/terminal.h"
#include "framework/core/utf8.h"

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

}  // namespace qkv
