#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "data/text/vocabulary.h"
#include "framework/core/status.h"
#include "framework/io/files.h"
#include "framework/io/large_file.h"

namespace qkv {

// The tokens of a text, with 1, 2 or 4 bytes each, in blocks of 4,096 bytes that end in a checksum.
// The blocks are in memory or in a file. A file is read and not mapped: a mapping counts as memory
// of the process, and ends it where the file cannot be read.
class TokenStore {
 public:
  int64_t size() const { return size_; }
  // The tokens from `place` on, which all are there. Throws Error where the file cannot be read or
  // is damaged; a damaged one is removed, which the next start makes again.
  void read(int64_t place, std::span<int64_t> tokens) const;

  static constexpr int64_t kBlockBytes = 4096;
  int64_t block_count() const;
  int64_t token_bytes() const { return token_bytes_; }

  // That many tokens at the front of a file.
  TokenStore(std::string path, FileDescriptor file, int64_t size, int64_t token_bytes);

 private:
  friend class TokenWriter;
  TokenStore(std::string blocks, int64_t size, int64_t token_bytes);
  using Block = std::array<char, kBlockBytes>;
  void read_block(int64_t index, Block& block) const;

  std::string path_;  // "": in memory
  FileDescriptor file_;
  std::string blocks_;  // in memory
  int64_t size_, token_bytes_;
};

// Collects the tokens of a text, each below `vocabulary_size`.
class TokenWriter {
 public:
  // Into memory, or into a file. `expected`: about how many tokens there will be.
  TokenWriter(int64_t vocabulary_size, std::optional<LargeFile> file, int64_t expected = 0);

  absl::Status add(std::span<const int64_t> tokens);
  int64_t size() const { return size_; }

  // Completes the last block. Nothing can be added afterwards.
  absl::Status finish();
  LargeFile& file() { return *file_; }
  int64_t token_bytes() const { return token_bytes_; }
  TokenStore store(const std::string& path) &&;  // after finish(); "": in memory

 private:
  absl::Status end_block();

  std::optional<LargeFile> file_;
  std::string blocks_;  // in memory; of a file, those that are not written
  std::string block_;   // the tokens of the one that is not full
  int64_t block_index_ = 0;
  int64_t size_ = 0, token_bytes_;
};

// A text as tokens: those for training, then those for validation.
struct TextTokens {
  Vocabulary vocabulary;
  std::string fingerprint;
  int64_t training_tokens = 0;
  TokenStore tokens;
};

// The tokens of a large text are a file in $XDG_CACHE_HOME/qkv, or in ~/.cache/qkv, which the next
// start uses where nothing has changed: the blocks of a TokenStore, a JSON object with all else,
// its size and its checksum with 8 bytes each, and "qkv text". Its key names its sources. Removing
// it costs time alone.

// The content of a vocabulary: if two are the same, so are the tokens of every text.
std::string text_of_vocabulary(const Vocabulary& vocabulary);

// The path of the file for a text that is called `name` in it.
absl::StatusOr<std::string> token_cache_path(const std::string& name);

// None if the file is missing or damaged, or has another key.
std::optional<TextTokens> load_tokens(const std::string& path, const std::string& key);

// Completes the file that the writer, which is finished, has filled with tokens.
absl::Status append_key(TokenWriter& writer, const std::string& key, const Vocabulary& vocabulary,
                        const std::string& fingerprint, int64_t training_tokens);

}  // namespace qkv
