#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "data/text/tokenizer_json.h"
#include "data/text/vocabulary.h"
#include "data/text/vocabulary_builder.h"
#include "framework/core/text/utf8.h"
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

// A text: parts of it make the same vocabulary and the same tokens as the whole, which says what
// the text says. The first two bytes say where it is cut, and which tokens are learned.
void fuzz_tokens(std::string_view input) {
  if (input.size() < 2) return;
  const size_t read = std::min<size_t>(static_cast<unsigned char>(input[0]), input.size() - 1);
  const auto choice = static_cast<unsigned char>(input[1]);
  constexpr TokenKind kKinds[] = {TokenKind::kBpe, TokenKind::kBytes, TokenKind::kBpe,
                                  TokenKind::kWords};
  const TokenKind kind = kKinds[choice % 4];
  const std::string_view text = input.substr(1);
  VocabularyBuilder whole(kind, 257 + choice / 4 % 8), parts(kind, 257 + choice / 4 % 8);
  whole.add(text);
  parts.add(text.substr(0, read));
  parts.add(text.substr(read));
  const absl::StatusOr<Vocabulary> vocabulary = whole.build(), same = parts.build();
  require(vocabulary.ok() == same.ok(), "parts are the whole");
  if (!vocabulary.ok()) return require_good_message(vocabulary.status());
  require(*vocabulary == *same, "parts make the vocabulary of the whole");
  const std::string decoded = vocabulary->decode(*vocabulary->encode(text));
  require(kind == TokenKind::kWords || decoded == text, "a text is its tokens", decoded);
  require_safe_cut(*vocabulary, text, read);
  if (choice < 0xF0) return;  // the rest takes long
  require(*vocabulary_of_tokenizer(tokenizer_json(*vocabulary)) == *vocabulary,
          "a tokenizer reads back");
}
const bool kTokensIsAdded = add_fuzz_target({"tokens", fuzz_tokens});

// A tokenizer.json: what is understood is written the same, and encodes every text unless its
// tokens are a list.
void fuzz_tokenizer(std::string_view input) {
  const absl::StatusOr<Vocabulary> vocabulary = vocabulary_of_tokenizer(input);
  if (!vocabulary.ok()) return require_good_message(vocabulary.status());
  const bool is_list = vocabulary->kind() == TokenKind::kCharacters;
  const std::string json =
      is_list ? listed_tokenizer_json(*vocabulary) : tokenizer_json(*vocabulary);
  require(*vocabulary_of_tokenizer(json) == *vocabulary, "a tokenizer reads back", json);
  if (is_list) return;  // which does not know every text
  const std::string text(input);
  const std::string decoded = vocabulary->decode(*vocabulary->encode(text));
  require(vocabulary->unknown().has_value() || decoded == text, "a text is its tokens", decoded);
}
const bool kTokenizerIsAdded = add_fuzz_target({"tokenizer", fuzz_tokenizer});

std::string unescape(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      bytes += text[i];
    } else if (text[++i] == 'x') {
      bytes +=
          static_cast<char>(std::strtol(std::string(text.substr(i + 1, 2)).c_str(), nullptr, 16));
      i += 2;
    } else {
      bytes += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : '\\';
    }
  }
  return bytes;
}

bool has_long_token(const Vocabulary& vocabulary) {
  return std::ranges::any_of(vocabulary.texts(), [](const std::string& text) {
    return code_point_length(text) != text.size();
  });
}

void require_decodes_to_what_was_encoded(const Vocabulary& vocabulary, std::string_view prompt) {
  const absl::StatusOr<std::vector<int64_t>> tokens = vocabulary.encode(prompt);
  if (!tokens.ok()) return require_good_message(tokens.status());
  const std::string decoded = vocabulary.decode(*tokens);
  require(*vocabulary.encode(decoded) == *tokens, "tokens that are written read back", decoded);
  if (decoded == prompt) return;
  const std::vector<std::string> words =
      absl::StrSplit(std::string(prompt), absl::ByAnyChar(" \t\n\v\f\r"), absl::SkipEmpty());
  require(has_long_token(vocabulary) && decoded == absl::StrJoin(words, " "),
          "a prompt is its tokens", decoded);
}

// A vocabulary and a prompt, with a NUL between them. What stands before the first of several NULs
// is a token each; of one, the characters that are known.
void fuzz_prompt(std::string_view input) {
  const std::string escaped = escape(input);
  require(is_one_printable_line(escaped), "what is escaped is one line", escaped);
  require(unescape(escaped) == input, "what is escaped can be told", escaped);

  const std::vector<std::string> parts = absl::StrSplit(std::string(input), '\0');
  absl::StatusOr<Vocabulary> vocabulary =
      parts.size() < 3 ? Vocabulary::of_characters(parts[0])
                       : Vocabulary::create({parts.begin(), parts.end() - 1});
  if (!vocabulary.ok()) return require_good_message(vocabulary.status());
  require_decodes_to_what_was_encoded(*vocabulary, parts.back());
}
const bool kPromptIsAdded = add_fuzz_target({"prompt", fuzz_prompt});

}  // namespace
}  // namespace qkv
