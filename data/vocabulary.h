#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace qkv {

// The texts of the tokens 0 … size() - 1. Where every token is one character, a text is encoded
// character by character; where some are longer ("0" … "96"), tokens are written with spaces
// between them: "12 + 90 =". A checkpoint keeps a vocabulary as texts(); create() brings it back.
class Vocabulary {
 public:
  Vocabulary() = default;

  // An error when a text is empty, twice there or not UTF-8, or when one contains white space and
  // tokens would be written with spaces between them.
  static absl::StatusOr<Vocabulary> create(std::vector<std::string> texts);

  // The characters of `text`, each once, in the order of their code points. An error when `text` is
  // not UTF-8.
  static absl::StatusOr<Vocabulary> of_characters(std::string_view text);

  int64_t size() const { return static_cast<int64_t>(texts_.size()); }
  const std::vector<std::string>& texts() const { return texts_; }

  // An error that names the first part of `text` that is not in the vocabulary, where it is, and
  // what is known.
  absl::StatusOr<std::vector<int64_t>> encode(std::string_view text) const;

  // Throws Error when a token is not in 0 … size() - 1.
  std::string decode(std::span<const int64_t> tokens) const;

 private:
  absl::Status unknown(std::string_view what, std::string_view where) const;

  std::vector<std::string> texts_;
  std::map<std::string, int64_t, std::less<>> ids_;
  bool spaced_ = false;  // tokens are written with spaces between them
};

}  // namespace qkv
