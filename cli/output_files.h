#pragma once

#include <span>
#include <string>

#include "absl/status/status.h"

namespace qkv {

// A file that the user named with an option, and what every file of its kind begins with.
struct OutputFile {
  std::string option;  // "html"
  std::string path;    // "": the option was not given
  std::string beginning;
};

inline constexpr char kBeginningOfPage[] = "<!doctype html>";
inline constexpr char kBeginningOfSvg[] = "<svg ";
inline constexpr char kBeginningOfLesson[] = R"({"format":"qkv lesson")";
inline constexpr char kBeginningOfGradcheck[] = "{\n \"format\": \"qkv gradcheck\"";
inline constexpr char kBeginningOfReport[] = "{\n  \"lab\": ";
inline constexpr char kBeginningOfSweep[] = "step,forward_error,";
inline constexpr char kBeginningOfTrainingSweep[] = "{\n  \"sweep\": ";
inline constexpr char kBeginningOfGenerated[] = "{\n  \"generate\": ";
inline constexpr char kBeginningOfComparison[] = "{\n  \"runs\": ";
inline constexpr char kBeginningOfRuns[] = "[\n";
inline constexpr char kBeginningOfDiagnoses[] = "[\n  {\n    \"check\": ";
inline constexpr char kBeginningOfEvaluation[] = "{\"checkpoint\":";
inline constexpr char kBeginningOfEvaluations[] = "[{\"checkpoint\":";
inline constexpr char kBeginningOfBench[] = "{\"name\":";
inline constexpr char kBeginningOfBenchSuite[] = "{\"steps\":";
inline constexpr char kBeginningOfReplay[] = "{\n  \"run\": ";
inline constexpr char kBeginningOfLectureNotes[] = "<!-- Made by ./qkv lab --all";

// Call it before the work that fills the files. It is an error if a file cannot be written, if two
// options name one file, or if a file exists that begins otherwise: a page does not replace a
// checkpoint. Empty files, devices and pipes may be written to.
absl::Status check_outputs(std::span<const OutputFile> files);

// Nothing where the path is "".
absl::Status write_if_asked(const std::string& path, const std::string& text);

// Where "-" is standard output: the file that is written then, "" for none.
std::string file_named(const std::string& path);
// Nothing where there is no text.
absl::Status write_output(const std::string& path, const std::string& text);

}  // namespace qkv
