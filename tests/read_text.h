#pragma once

#include <string>
#include <string_view>

#include "data/file.h"

namespace qkv {

// The whole of it; an error as well where that is empty.
inline absl::StatusOr<std::string> read_text(const std::string& path) {
  ASSIGN_OR_RETURN(TextPieces pieces, TextPieces::open(path));
  std::string text;
  while (true) {
    ASSIGN_OR_RETURN(const std::string_view piece, pieces.next());
    if (piece.empty()) break;
    text += piece;
  }
  if (text.empty()) return invalid_argument(path, ": is empty");
  return text;
}

}  // namespace qkv
