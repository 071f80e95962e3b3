#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/vocabulary.h"

namespace qkv {

// A vocabulary of tokens in a list as the tokenizer.json of Hugging Face's `tokenizers`:
// characters, or words with spaces between them.
std::string listed_tokenizer_json(const Vocabulary& vocabulary);

// The vocabulary of the model.vocab of such a file.
absl::StatusOr<Vocabulary> vocabulary_of_listed_tokenizer(const nlohmann::json& vocab);

// Such a model.vocab: {"a":0,"b":1}. The texts are different ones.
nlohmann::ordered_json numbered(const std::vector<std::string>& texts);

}  // namespace qkv
