#pragma once

#include <string>
#include <string_view>

namespace qkv {

// Why a text is not JSON and where, in the parser's words: "at line 1, column 14: unexpected ','".
// "": it is JSON.
std::string json_mistake(std::string_view text);

// The same of the text of an exception of nlohmann's parser.
std::string json_reason(const std::string& what);

}  // namespace qkv
