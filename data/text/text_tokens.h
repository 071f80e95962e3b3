#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/file.h"
#include "data/text/token_store.h"
#include "framework/core/status.h"

namespace qkv {

// A byte of text is at most one token of 4 bytes: so such a text takes at most 128 MiB, and about a
// second to be read again.
inline constexpr int64_t kLargestInMemory = 32 << 20;

// How a text is read. Other sizes make the same tokens.
struct TextLimits {
  int64_t in_memory = kLargestInMemory;  // a larger text becomes a file of the cache
  size_t piece_bytes = 1 << 20;          // of text, in memory at once
};

struct ReadText {
  TextTokens text;
  std::vector<std::string> notes;  // on the parts left out
};

// The tokens of the files data.path, and of data.validation_path where that is given. Otherwise the
// first train_fraction of the characters is for training. All files that are not UTF-8 are named.
// The text is read from the beginning to its end two or three times and never held; where the
// cache has its tokens it is not read at all.
absl::StatusOr<ReadText> read_text_tokens(const DataOptions& options, const Wait& wait,
                                          const TextLimits& limits = {});

// The tokens of the files data.path, all for validation, in a vocabulary that is known. All lines
// with an unknown character are named, at most 20.
absl::StatusOr<ReadText> read_known_tokens(const DataOptions& options, const Vocabulary& known,
                                           const Wait& wait, const TextLimits& limits = {});

}  // namespace qkv
