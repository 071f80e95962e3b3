#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "data/text/vocabulary.h"
#include "framework/core/status.h"

namespace qkv {

// How often training must have a character or word that is a token: data.min_count, or without it
// twice. In a text that a model writes, every character is a token: none may be left out or
// unknown.
inline int64_t least_count(const DataOptions& options, bool are_questions) {
  if (options.min_count > 0) return options.min_count;
  return are_questions || options.tokens == TokenKind::kWords ? 2 : 0;
}

// Makes the vocabulary of texts that come in parts, cut anywhere:
//
//   VocabularyBuilder builder(options.tokens, options.vocabulary_size, options.tokenizer,
//                             least_count(options, are_questions));
//   while (…) builder.add(part);
//   builder.end_text();
//   while (…) builder.add_validation(part);
//   builder.build()
//
// It keeps the different pieces of the texts, not the texts.
class VocabularyBuilder {
 public:
  // `size`: how many byte pairs and bytes, or how many words at most; `tokenizer`: the file that
  // has the vocabulary, whatever the texts are. Characters and words that training has less than
  // `min_count` times are the unknown token, which characters have where it is above 0.
  VocabularyBuilder(TokenKind kind, int64_t size, std::string tokenizer = "", int64_t min_count = 0)
      : kind_(kind), size_(size), min_count_(min_count), tokenizer_(std::move(tokenizer)) {}

  // A part of a training text, which ends at end_text().
  void add(std::string_view part);
  // A part of a text for validation: its characters are in the vocabulary, too, if none is unknown;
  // its words and byte pairs are not learned.
  void add_validation(std::string_view part);
  // A text that a model must write: its characters and words are in the vocabulary however rare.
  void add_answer(std::string_view text);
  // A text that is a token where texts are characters or words.
  void add_token(const std::string& text) { tokens_.push_back(text); }
  // The next part begins another text.
  void end_text();

  // An error when a text is not UTF-8, or has too few byte pairs. Ends the text.
  absl::StatusOr<Vocabulary> build();

 private:
  void add_characters(std::string_view part, int64_t times);
  void count_pieces(std::string_view text);
  bool counts_pieces() const { return kind_ == TokenKind::kWords || kind_ == TokenKind::kBpe; }
  absl::StatusOr<Vocabulary> characters() const;
  absl::StatusOr<Vocabulary> words() const;
  absl::StatusOr<Vocabulary> byte_pairs() const;
  std::vector<CountedPiece> most_frequent_first() const;

  TokenKind kind_;
  int64_t size_;
  int64_t min_count_;
  std::string tokenizer_;
  std::vector<std::string> tokens_;
  int64_t times_ = 1;  // that a piece counts
  std::string rest_;   // of the last part, to which the next one may belong
  bool is_utf8_ = true;
  std::array<int64_t, 128> ascii_{};                  // how often there is each character
  absl::flat_hash_map<std::string, int64_t> counts_;  // of the others, or of the pieces
};

}  // namespace qkv
