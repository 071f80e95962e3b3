#pragma once

#include <string>
#include <vector>

namespace qkv {

// The candidate that the user most likely meant by `word`: it differs by few typing mistakes
// ("num_head"), or `word` is a part of it ("heads") or its initials ("lr"). "" when none is near.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

// {"x", "y", "z"}, "and" -> x, y and z
std::string list_in_words(const std::vector<std::string>& words, const char* conjunction);

// {"x", "y", "z"}, "or" -> "x", "y" or "z", each in quotes.
std::string quoted_list(const std::vector<std::string>& words, const char* conjunction);

}  // namespace qkv
