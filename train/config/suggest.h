#pragma once

#include <string>
#include <vector>

namespace qkv {

// Of `candidates`, the one that whoever wrote `word` most likely meant: few typing mistakes away
// ("num_head"), a part of it ("heads"), or its initials ("lr"). "" when none is near.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

// {"x", "y", "z"}, "and" -> x, y and z
std::string list_in_words(const std::vector<std::string>& words, const char* conjunction);

// "x", "y" or "z", each in quotes.
std::string quoted_list(const std::vector<std::string>& words);

}  // namespace qkv
