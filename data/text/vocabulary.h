#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_options.h"
#include "data/text/byte_pairs.h"
#include "framework/core/status.h"

namespace qkv {

// The texts of the tokens 0 … size() - 1, and how a text becomes tokens:
//
// - Tokens in a list. Where every token is one character, a text is encoded character by character;
//   where some are longer ("0" … "96"), tokens are written with spaces between them: "12 + 90 =".
//   A checkpoint keeps such a vocabulary as texts(); create() brings it back.
// - Bytes, byte pairs, or words: GPT-2's pieces (data/text/pieces.h), with one token for all that
//   are not known. A text is the texts of its tokens, one after the other. Added tokens are found
//   first. data/text/tokenizer_json.h keeps these.
//
// Copies share their tables.
class Vocabulary {
 public:
  Vocabulary();

  // An error when a text is empty, twice there or not UTF-8, or when one contains white space and
  // tokens would be written with spaces between them. `unknown` stands for all that are none.
  static absl::StatusOr<Vocabulary> create(std::vector<std::string> texts,
                                           std::optional<int64_t> unknown = std::nullopt);

  // The characters of `text`, each once, in the order of their code points. An error when `text` is
  // not UTF-8.
  static absl::StatusOr<Vocabulary> of_characters(std::string_view text);

  // Token b is byte b.
  static Vocabulary of_bytes();

  // Texts of bytes, and their merges, earliest first. An error when a byte has no token, a text is
  // empty or twice there, or a merge is not of tokens to what they make together. `added` tokens
  // are found in a text before it is cut into pieces, the leftmost first, at one place the longest.
  static absl::StatusOr<Vocabulary> of_byte_pairs(std::vector<std::string> texts,
                                                  std::vector<TokenMerge> merges,
                                                  std::vector<int64_t> added = {});

  // Pieces. Token `unknown` stands for all others. An error when a text is empty or twice there.
  static absl::StatusOr<Vocabulary> of_words(std::vector<std::string> texts, int64_t unknown,
                                             std::vector<int64_t> added = {});

  TokenKind kind() const;  // kCharacters, where they are in a list
  int64_t size() const { return static_cast<int64_t>(texts().size()); }
  // Where a token is less than a character, its text is not UTF-8.
  const std::vector<std::string>& texts() const;
  // The texts as UTF-8 for people: other bytes as "\xE4".
  std::vector<std::string> names() const;
  std::optional<int64_t> unknown() const;         // of words, and where a list has it
  const std::vector<TokenMerge>& merges() const;  // only of byte pairs
  const std::vector<int64_t>& added() const;      // the longest first
  bool is_spaced() const;                         // a list, written with spaces between tokens

  // Whether every text has the same tokens in both.
  bool operator==(const Vocabulary& other) const;

  // An error names the first part of `text` that is not in the vocabulary, its place, and the known
  // tokens. Bytes, byte pairs and words encode every text.
  absl::StatusOr<std::vector<int64_t>> encode(std::string_view text) const;
  // Appends the tokens. A repeated piece is encoded once: a megabyte at a time is faster than a
  // line at a time.
  absl::Status encode(std::string_view text, std::vector<int64_t>& tokens) const;
  // The same where no token crosses a border of `mark`, wherever the text has it: of a question and
  // what follows it. "": the text is one.
  absl::StatusOr<std::vector<int64_t>> encode_apart(std::string_view text,
                                                    std::string_view mark) const;

  // The longest prefix of `text` after which it can be cut, whatever follows it: the tokens of the
  // prefix and those of all that follows are the tokens of the whole. 0: none.
  size_t safe_length(std::string_view text) const;

  // Throws Error when a token is not in 0 … size() - 1.
  std::string decode(std::span<const int64_t> tokens) const;

 private:
  struct Parts;
  static absl::StatusOr<Vocabulary> of(Parts parts);
  absl::Status encode_listed(std::string_view text, std::vector<int64_t>& tokens) const;
  void encode_pieces(std::string_view text, std::vector<int64_t>& tokens) const;
  std::string_view split(std::string_view text, std::vector<int64_t>* tokens) const;
  absl::Status unknown_part(std::string_view what, std::string_view where) const;

  std::shared_ptr<const Parts> parts_;
};

}  // namespace qkv
