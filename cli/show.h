#pragma once

#include <span>
#include <string>

#include "framework/core/status.h"

namespace qkv {

class GivenOptions;

void print(const std::string& text);  // on standard output, as it is

// On standard output for a person: no line is wider than the terminal, or than 80 columns where
// there is none, and a terminal gets a few colours.
void show(const std::string& text);
void show_table(const std::string& text);  // whose first line is its head

// "note: TEXT", "warning: TEXT", "error: TEXT" on standard error: a line each, which a terminal
// gets folded. The text of an error was escaped before.
void say_note(const std::string& text);
void say_warning(const std::string& text);
void say_error(const std::string& text);

// The option --json FILE of every verb that has it: the JSON is written into the file, beside the
// text; or with - to standard output in the place of the text.
bool prints_json(const GivenOptions& given);       // -
std::string json_file(const GivenOptions& given);  // "" where there is none
// That the file can be written, and would replace nothing but a file that begins like this; before
// the work.
absl::Status check_json(const GivenOptions& given, const std::string& beginning);
absl::Status show_or_write(const GivenOptions& given, const std::string& text,
                           const std::string& json);
absl::Status write_json(const GivenOptions& given, const std::string& json);

// A file that the user named with an option, and the beginning of every file of its kind.
struct OutputFile {
  std::string option;  // "out"
  std::string path;    // "": the option was not given
  std::string beginning;
};

inline constexpr char kBeginningOfPage[] = "<!doctype html>";

// Call it before the work that fills the files. It is an error if a file cannot be written, if two
// options name one file, or if a file exists that begins otherwise: a page does not replace a
// checkpoint. Empty files, devices and pipes may be written to.
absl::Status check_outputs(std::span<const OutputFile> files);

// Nothing where the path is "".
absl::Status write_if_asked(const std::string& path, const std::string& text);

// Where "-" is standard output: the file that is written then, "" for none.
std::string file_named(const std::string& path);
// Nothing if the text is empty.
absl::Status write_output(const std::string& path, const std::string& text);

}  // namespace qkv
