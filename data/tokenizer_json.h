#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "data/vocabulary.h"

namespace qkv {

// A vocabulary of bytes, words or byte pairs as the tokenizer.json of Hugging Face's `tokenizers`,
// which gives every text the same tokens. "": a list of tokens is none.
std::string tokenizer_json(const Vocabulary& vocabulary);

// The vocabulary of such a file, with GPT-2's pieces: a byte-level model of the type BPE or
// WordLevel; or of one that listed_tokenizer_json() wrote. An error says what it has that is not
// read.
absl::StatusOr<Vocabulary> vocabulary_of_tokenizer(std::string_view json);

// The same of a file, which errors name.
absl::StatusOr<Vocabulary> read_tokenizer(const std::string& path);

}  // namespace qkv
