#pragma once

#include <map>
#include <string>

namespace qkv {

// The files apps/FOLDER/texts/NAME.toml by "FOLDER/NAME", which cmake/texts.cmake makes C++ of.
const std::map<std::string, std::string>& text_files();

}  // namespace qkv
