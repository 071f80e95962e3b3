#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "data/vocabulary.h"

namespace qkv {

// Makes the vocabulary of texts that come in parts, cut anywhere:
//
//   VocabularyBuilder builder(options.tokens, options.vocabulary_size, options.tokenizer);
//   while (…) builder.add(part);
//   builder.end_text();
//   while (…) builder.add_validation(part);
//   builder.build()
//
// It keeps the different pieces of the texts, not the texts.
class VocabularyBuilder {
 public:
  // `size`: how many byte pairs and bytes, or how many words at most; `tokenizer`: the file that
  // has the vocabulary, whatever the texts are.
  VocabularyBuilder(TokenKind kind, int64_t size, std::string tokenizer = "")
      : kind_(kind), size_(size), tokenizer_(std::move(tokenizer)) {}

  // A part of a text for training, which goes on until end_text().
  void add(std::string_view part);
  // A part of a text for validation: its characters are in the vocabulary, too; its words and byte
  // pairs are not learned.
  void add_validation(std::string_view part);
  // What comes next is another text.
  void end_text();

  // An error when a text is not UTF-8, or has too few byte pairs. Ends the text.
  absl::StatusOr<Vocabulary> build();

 private:
  void add_characters(std::string_view part);
  void count_pieces(std::string_view text);
  bool counts_pieces() const { return kind_ == TokenKind::kWords || kind_ == TokenKind::kBpe; }
  absl::StatusOr<Vocabulary> characters() const;
  absl::StatusOr<Vocabulary> words() const;
  absl::StatusOr<Vocabulary> byte_pairs() const;
  std::vector<CountedPiece> most_frequent_first() const;

  TokenKind kind_;
  int64_t size_;
  std::string tokenizer_;
  std::string rest_;  // of the last part, to which the next one may belong
  bool is_utf8_ = true;
  std::array<bool, 128> ascii_{};                     // which characters there are
  absl::flat_hash_map<std::string, int64_t> counts_;  // of the others, or of the pieces
};

}  // namespace qkv
