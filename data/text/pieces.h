#pragma once

#include <cstddef>
#include <string_view>

namespace qkv {

// GPT-2 cuts a text into pieces (Radford et al. 2019), across whose borders no bytes are merged:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// So " the", "2026", "\n" and " ..." are a piece each. A byte that is not UTF-8 counts as
// punctuation.

// The length of the piece at the front of `text`, in bytes; 0 where it is empty.
size_t piece_length(std::string_view text);

// The longest prefix of `text` whose pieces are the same whatever follows the text. It ends between
// two pieces.
size_t length_of_sure_pieces(std::string_view text);

}  // namespace qkv
