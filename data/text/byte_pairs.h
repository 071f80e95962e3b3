#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace qkv {

// Two tokens that become one. The texts of tokens are bytes.
struct TokenMerge {
  int64_t left, right, merged;
  bool operator==(const TokenMerge&) const = default;
};

// Byte-pair encoding (Sennrich et al. 2016) with the 256 bytes below (Radford et al. 2019): pairs
// earlier in the list of merges are merged earlier, of equals the leftmost.
class BytePairs {
 public:
  BytePairs(std::array<int64_t, 256> token_of_byte, std::vector<TokenMerge> merges);

  const std::vector<TokenMerge>& merges() const { return merges_; }

  // Appends the tokens of a piece.
  void encode(std::string_view piece, std::vector<int64_t>& tokens) const;

 private:
  struct Place {  // in the list of merges
    int64_t rank, merged;
  };
  const Place* find(int64_t left, int64_t right) const;

  std::array<int64_t, 256> token_of_byte_;
  std::vector<TokenMerge> merges_;
  absl::flat_hash_map<uint64_t, Place> places_;  // by pair
};

// The texts of the 256 tokens of bytes, in GPT-2's order: those that can be printed come first.
std::vector<std::string> texts_of_bytes();

// The merges of pieces, each with its count, until there are `size` tokens or no two tokens stand
// beside each other. The most frequent pair is merged next, of equals that of the lowest tokens.
// Appends the tokens to `texts`, which has those of bytes.
struct CountedPiece {
  std::string_view piece;
  int64_t count = 0;
};
std::vector<TokenMerge> learn_byte_pairs(std::span<const CountedPiece> pieces, int64_t size,
                                         std::vector<std::string>& texts);

}  // namespace qkv
