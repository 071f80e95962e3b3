#pragma once

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "data/options.h"

// What tasks over a file of the user's have in common.
namespace qkv {

constexpr int64_t kTextLength = 200;  // tokens that make a good piece of text

inline void check_path(const char* task, const DataOptions& options, OptionChecker& check) {
  if (!options.path.empty()) return;
  check.add("path", absl::StrCat("is missing: the task \"", task,
                                 "\" reads a file; give one with --set data.path=FILE"));
}

inline void check_shares(const DataOptions& options, OptionChecker& check) {
  const double most = options.validation_path.empty() ? 0.999 : 1;
  check.range("train_fraction", options.train_fraction, 0.001, most);
  check.range("validation_examples", options.validation_examples, 1, kMaxValidationExamples);
}

// How many tokens may be learned.
inline void check_tokens(const DataOptions& options, OptionChecker& check) {
  constexpr int64_t kLeastWords = 2, kLeastPairs = 257, kMost = 1 << 20;
  if (options.tokens == TokenKind::kTokenizer && options.tokenizer.empty()) {
    check.add("tokenizer",
              "is missing: data.tokens = \"tokenizer\" reads the tokens from a file; "
              "give one with --set data.tokenizer=FILE");
  } else if (options.tokens == TokenKind::kWords) {
    check.range("vocabulary_size", options.vocabulary_size, kLeastWords, kMost);
  } else if (options.tokens == TokenKind::kBpe && options.vocabulary_size < kLeastPairs) {
    check.add("vocabulary_size",
              absl::StrCat("must be at least ", kLeastPairs, ", not ", options.vocabulary_size,
                           ": 256 bytes and what is made of them"));
  } else if (options.tokens == TokenKind::kBpe) {
    check.range("vocabulary_size", options.vocabulary_size, kLeastPairs, kMost);
  }
}

}  // namespace qkv
