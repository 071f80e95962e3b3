#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "data/text/vocabulary.h"
#include "framework/core/text/utf8.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/targets.h"

namespace qkv {
namespace {

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
