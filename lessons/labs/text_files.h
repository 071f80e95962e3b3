#pragma once

#include <map>
#include <string>

namespace qkv {

// The files of lessons/labs/texts by their names without .toml, which cmake/lab_texts.cmake makes
// C++ of.
const std::map<std::string, std::string>& text_files();

}  // namespace qkv
