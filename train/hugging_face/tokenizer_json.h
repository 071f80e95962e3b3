#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "data/vocabulary.h"

namespace qkv {

// The text of a tokenizer.json, as Hugging Face's tokenizers reads it, that encodes and decodes as
// the vocabulary does.
std::string hugging_face_tokenizer(const Vocabulary& vocabulary);

// The vocabulary of such a file; `source` names it.
absl::StatusOr<Vocabulary> parse_hugging_face_tokenizer(std::string_view json,
                                                        const std::string& source);

}  // namespace qkv
