#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "data/text/token_store.h"
#include "data/vocabulary.h"

namespace qkv {

// A text as tokens: those for training, then those for validation.
struct TextTokens {
  Vocabulary vocabulary;
  std::string fingerprint;
  int64_t training_tokens = 0;
  TokenStore tokens;
};

// The tokens of a large text are a file in $XDG_CACHE_HOME/qkv, or in ~/.cache/qkv, which the next
// start uses where nothing has changed: the blocks of a TokenStore, a JSON object with all else,
// its size and its checksum with 8 bytes each, and "qkv text". Its key says of what it was made.
// Who removes it loses time alone.

// All that a vocabulary knows: where two are the same, so are the tokens of every text.
std::string text_of_vocabulary(const Vocabulary& vocabulary);

// The path of the file for a text that is called `name` in it.
absl::StatusOr<std::string> token_cache_path(const std::string& name);

// None where there is no such file, it has another key, or it is damaged.
std::optional<TextTokens> load_tokens(const std::string& path, const std::string& key);

// Completes the file that the writer, which is finished, has filled with tokens.
absl::Status append_key(TokenWriter& writer, const std::string& key, const Vocabulary& vocabulary,
                        const std::string& fingerprint, int64_t training_tokens);

}  // namespace qkv
