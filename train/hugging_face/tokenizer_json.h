#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "data/vocabulary.h"

namespace qkv {

// The text of a tokenizer.json, as Hugging Face's tokenizers reads it, that encodes and decodes as
// the vocabulary does.
std::string hf_tokenizer_json(const Vocabulary& vocabulary);

// The vocabulary of such a file; `source` names it.
absl::StatusOr<Vocabulary> parse_tokenizer_json(std::string_view json, const std::string& source);

}  // namespace qkv
