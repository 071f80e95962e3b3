#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "data/text/vocabulary.h"
#include "framework/core/status.h"

namespace qkv {

// A vocabulary of bytes, words or byte pairs as the tokenizer.json of Hugging Face's `tokenizers`,
// which gives every text the same tokens; so is a list of tokens with an unknown one. "": any other
// list.
std::string tokenizer_json(const Vocabulary& vocabulary);

// A list of tokens as such a file: characters, or words with spaces between them.
std::string listed_tokenizer_json(const Vocabulary& vocabulary);

// The vocabulary of such a file, with GPT-2's pieces: a byte-level model of the type BPE or
// WordLevel; or of one that listed_tokenizer_json() wrote. An error names the field that tokenizers
// does in a way that is not done here.
absl::StatusOr<Vocabulary> vocabulary_of_tokenizer(std::string_view json);

// The same of a file, which errors name.
absl::StatusOr<Vocabulary> read_tokenizer(const std::string& path);

// A value of a user's file for an error: short, and on one line. Objects and lists are not written
// out: they may be nested deeply.
std::string shown(const nlohmann::json& value);

}  // namespace qkv
