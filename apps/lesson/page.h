#pragma once

#include <string>

namespace qkv {

// In zlib's format, in base64.
std::string packed(const std::string& text);

// One HTML file with a lesson's document and the variants, if any, in it, packed, that needs
// nothing else. It begins in that language, with "" in the browser's.
std::string lesson_page(const std::string& document, const std::string& variants,
                        const std::string& title, const std::string& language = "");

// The files of apps/lesson/page, as cmake/lesson_page.cmake puts them into the program.
extern const std::string kPageHtml;
extern const std::string kPageStyle;
extern const std::string kPageScript;        // all modules in one
extern const std::string kPageScriptDigest;  // its SHA-256, in hexadecimal
extern const std::string kPageLoader;        // what unpacks it
extern const std::string kPageLoaderDigest;

}  // namespace qkv
