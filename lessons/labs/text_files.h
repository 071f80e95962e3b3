#pragma once

#include <string>

// The files of lessons/labs/texts, which cmake/lab_texts.cmake makes C++ of.
namespace qkv {

extern const std::string kClaimsToml;
extern const std::string kSectionsToml;
extern const std::string kLabsToml;

}  // namespace qkv
