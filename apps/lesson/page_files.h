#pragma once

#include <string>

// The files of apps/lesson/page, as cmake/lesson_page.cmake puts them into the program.
namespace qkv {

extern const std::string kPageHtml;
extern const std::string kPageStyle;
extern const std::string kPageScript;        // all modules in one
extern const std::string kPageScriptDigest;  // its SHA-256, in hexadecimal

}  // namespace qkv
