#include <algorithm>

#include "data/tokenizer_json.h"
#include "data/vocabulary_builder.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/targets.h"

namespace qkv {
namespace {

void require_safe_cut(const Vocabulary& vocabulary, std::string_view text, size_t read) {
  const size_t length = vocabulary.safe_length(text.substr(0, read));
  require(length <= read, "a cut is in the text");
  std::vector<int64_t> tokens = *vocabulary.encode(text.substr(0, length));
  require(vocabulary.encode(text.substr(length), tokens).ok(), "all can be encoded");
  require(tokens == *vocabulary.encode(text), "a text has the tokens of its parts",
          std::string(text));
}

}  // namespace

void fuzz_tokens(std::string_view input) {
  if (input.size() < 2) return;
  const size_t read = std::min<size_t>(static_cast<unsigned char>(input[0]), input.size() - 1);
  const auto size = static_cast<int64_t>(257 + static_cast<unsigned char>(input[1]) % 8);
  const std::string_view text = input.substr(1);
  for (const TokenKind kind : {TokenKind::kBytes, TokenKind::kWords, TokenKind::kBpe}) {
    VocabularyBuilder whole(kind, size), parts(kind, size);
    whole.add(text);
    parts.add(text.substr(0, read));
    parts.add(text.substr(read));
    const absl::StatusOr<Vocabulary> vocabulary = whole.build(), same = parts.build();
    require(vocabulary.ok() == same.ok(), "parts are the whole");
    if (!vocabulary.ok()) {
      require_good_message(vocabulary.status());
      continue;
    }
    require(*vocabulary == *same, "parts make the vocabulary of the whole");
    require(*vocabulary_of_tokenizer(tokenizer_json(*vocabulary)) == *vocabulary,
            "a tokenizer reads back");
    const std::string decoded = vocabulary->decode(*vocabulary->encode(text));
    require(kind == TokenKind::kWords || decoded == text, "a text is its tokens", decoded);
    // What is no UTF-8 at the end of a part may be the beginning of a character.
    require_safe_cut(*vocabulary, text, read);
  }
}

void fuzz_tokenizer(std::string_view input) {
  const absl::StatusOr<Vocabulary> vocabulary = vocabulary_of_tokenizer(input);
  if (!vocabulary.ok()) return require_good_message(vocabulary.status());
  require(*vocabulary_of_tokenizer(tokenizer_json(*vocabulary)) == *vocabulary,
          "a tokenizer reads back");
  const std::string text(input);
  const std::string decoded = vocabulary->decode(*vocabulary->encode(text));
  require(vocabulary->unknown().has_value() || decoded == text, "a text is its tokens", decoded);
}

}  // namespace qkv
