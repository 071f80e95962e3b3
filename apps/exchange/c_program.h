#pragma once

#include <string>
#include <vector>

#include "apps/exchange/export_formats.h"

// A program in one file of C that answers a prompt, and beside it FILE.bin with the weights: 8
// bytes, "qkv-c-1\n", and the parameters in f32, little-endian, in the order of the program's
// structs.
namespace qkv {

// For export_formats().
std::vector<ExportedFile> c_files(const std::string& file);
absl::StatusOr<std::vector<std::string>> make_c(const LoadedRun& run, const std::string& file);

// The files of program/, which are compiled in (cmake/c_program.cmake); filled_template() fills it.
extern const std::string kProgramTemplate;

}  // namespace qkv
