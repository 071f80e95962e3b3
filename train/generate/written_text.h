#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/vocabulary.h"

namespace qkv {

enum class TextEnd { kLength, kStop, kLastToken, kInterrupted };

// The text of tokens that come one by one, until something ends it: one of the texts `stops`,
// across the borders of tokens, too, or the token `last_token`. Neither is a part of it.
class WrittenText {
 public:
  // The `vocabulary` must outlive it. `before` is the token in front of the first one.
  WrittenText(const Vocabulary& vocabulary, int64_t before, std::vector<std::string> stops,
              std::string last_token);

  // Takes the next token, and returns whether the text goes on.
  bool add(int64_t token);

  // UTF-8: a byte that belongs to no character is U+FFFD.
  std::string text() const;
  TextEnd end() const { return end_; }  // kLength, as long as it goes on

  // The next part of the text that no later token can change: it holds back what may be the
  // beginning of a stop, or of a UTF-8 character.
  std::string take_settled();
  // The rest, where no further token comes.
  std::string take_rest();

 private:
  std::string take_until(size_t end);
  void append(std::string_view bytes);

  const Vocabulary* vocabulary_;
  int64_t before_;
  std::vector<std::string> stops_;
  std::string last_token_;
  std::string text_;
  std::string unfinished_;  // the bytes after it, which begin a character
  size_t taken_ = 0;        // bytes
  TextEnd end_ = TextEnd::kLength;
};

}  // namespace qkv
