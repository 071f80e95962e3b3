#include "data/text/token_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "data/text/tokenizer_json.h"
#include "framework/core/error.h"
#include "framework/io/safetensors_checksums.h"

namespace qkv {
namespace {

constexpr int64_t kChecksumBytes = sizeof(uint64_t);
constexpr int64_t kTokenBytesOfBlock = TokenStore::kBlockBytes - kChecksumBytes;  // 4 divides it
constexpr size_t kWrittenAtOnce = 1 << 20;

static_assert(std::endian::native == std::endian::little);

int64_t bytes_of_token(int64_t vocabulary_size) {
  constexpr int64_t kByte = std::numeric_limits<uint8_t>::max();
  constexpr int64_t kTwoBytes = std::numeric_limits<uint16_t>::max();
  return vocabulary_size - 1 <= kByte ? 1 : vocabulary_size - 1 <= kTwoBytes ? 2 : 4;
}

// Another one where the same bytes stand at another place.
uint64_t checksum_of_block(std::string_view tokens, int64_t index) {
  return checksum_number(tokens, static_cast<uint64_t>(index));
}

template <class Token>
void widen(const char* bytes, std::span<int64_t> tokens) {
  for (int64_t& token : tokens) {
    Token narrow;
    std::memcpy(&narrow, bytes, sizeof narrow);
    token = narrow;
    bytes += sizeof narrow;
  }
}

template <class Token>
void append_narrow(std::span<const int64_t> tokens, std::string& bytes) {
  const size_t before = bytes.size();
  bytes.resize(before + tokens.size() * sizeof(Token));
  char* to = bytes.data() + before;
  for (const int64_t token : tokens) {
    const auto narrow = static_cast<Token>(token);
    std::memcpy(to, &narrow, sizeof narrow);
    to += sizeof narrow;
  }
}

constexpr std::string_view kMark = "qkv text";
struct Ending {
  uint64_t json_bytes, json_checksum;
  char mark[8];
};

std::string folder_in_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";  // the standard ignores a relative one
}

// The bytes from `offset` on. Less than that many: none.
std::optional<std::string> bytes_at(const std::string& path, const FileDescriptor& file,
                                    uint64_t offset, uint64_t size) {
  std::string bytes(size, '\0');
  const absl::StatusOr<size_t> got = read_at(path, file, offset, bytes);
  if (!got.ok() || *got != size) return std::nullopt;
  return bytes;
}

absl::StatusOr<Vocabulary> vocabulary_of_text(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array()) return vocabulary_of_tokenizer(text);
  return Vocabulary::create(json.get<std::vector<std::string>>());
}

// A file with the right checksum may still be another program's, so nothing is taken for granted.
std::optional<TextTokens> tokens_from_json(const std::string& path, FileDescriptor file,
                                           const std::string& text, uint64_t block_bytes,
                                           const std::string& key) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto number = [&](const char* name) {
    const nlohmann::json& value = json.at(name);
    return value.is_number_integer() ? value.get<int64_t>() : -1;
  };
  try {
    if (json.at("key") != key) return std::nullopt;
    const int64_t size = number("tokens"), bytes = number("token_bytes"),
                  training = number("training_tokens");
    const bool fits = training >= 0 && training <= size &&
                      static_cast<uint64_t>(size) <= block_bytes &&
                      (bytes == 1 || bytes == 2 || bytes == 4);
    if (!fits) return std::nullopt;
    TokenStore store(path, std::move(file), size, bytes);
    if (block_bytes != static_cast<uint64_t>(store.block_count() * TokenStore::kBlockBytes)) {
      return std::nullopt;
    }
    auto vocabulary = vocabulary_of_text(json.at("vocabulary"));
    if (!vocabulary.ok()) return std::nullopt;
    return TextTokens{*std::move(vocabulary), json.at("fingerprint"), training, std::move(store)};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

TokenStore::TokenStore(std::string path, FileDescriptor file, int64_t size, int64_t token_bytes)
    : path_(std::move(path)), file_(std::move(file)), size_(size), token_bytes_(token_bytes) {}

TokenStore::TokenStore(std::string blocks, int64_t size, int64_t token_bytes)
    : blocks_(std::move(blocks)), size_(size), token_bytes_(token_bytes) {}

int64_t TokenStore::block_count() const {
  return (size_ * token_bytes_ + kTokenBytesOfBlock - 1) / kTokenBytesOfBlock;
}

void TokenStore::read_block(int64_t index, Block& block) const {
  const int64_t offset = index * kBlockBytes;
  if (!file_.is_open()) {
    std::memcpy(block.data(), blocks_.data() + offset, block.size());
    return;
  }
  const absl::StatusOr<size_t> got = read_at(path_, file_, static_cast<uint64_t>(offset), block);
  if (!got.ok()) fail(std::string(got.status().message()));
  uint64_t checksum;
  std::memcpy(&checksum, block.data() + kTokenBytesOfBlock, sizeof checksum);
  const std::string_view tokens(block.data(), kTokenBytesOfBlock);
  if (*got == block.size() && checksum == checksum_of_block(tokens, index)) return;
  ::unlink(path_.c_str());
  fail(absl::StrCat(path_,
                    ": these tokens of the text are damaged, so the file was removed; the "
                    "next start makes it again"));
}

void TokenStore::read(int64_t place, std::span<int64_t> tokens) const {
  const int64_t in_block = kTokenBytesOfBlock / token_bytes_;
  Block block;
  while (!tokens.empty()) {
    read_block(place / in_block, block);
    const int64_t first = place % in_block;
    const int64_t count = std::min<int64_t>(in_block - first, std::ssize(tokens));
    const auto part = tokens.first(static_cast<size_t>(count));
    const char* const bytes = block.data() + first * token_bytes_;
    token_bytes_ == 1   ? widen<uint8_t>(bytes, part)
    : token_bytes_ == 2 ? widen<uint16_t>(bytes, part)
                        : widen<uint32_t>(bytes, part);
    tokens = tokens.subspan(part.size());
    place += count;
  }
}

TokenWriter::TokenWriter(int64_t vocabulary_size, std::optional<LargeFile> file, int64_t expected)
    : file_(std::move(file)), token_bytes_(bytes_of_token(vocabulary_size)) {
  const int64_t blocks = expected * token_bytes_ / kTokenBytesOfBlock + 1;
  if (!file_) blocks_.reserve(static_cast<size_t>(blocks * TokenStore::kBlockBytes));
}

absl::Status TokenWriter::add(std::span<const int64_t> tokens) {
  size_ += std::ssize(tokens);
  while (!tokens.empty()) {
    const int64_t room = (kTokenBytesOfBlock - std::ssize(block_)) / token_bytes_;
    const auto part = tokens.first(static_cast<size_t>(std::min(room, std::ssize(tokens))));
    token_bytes_ == 1   ? append_narrow<uint8_t>(part, block_)
    : token_bytes_ == 2 ? append_narrow<uint16_t>(part, block_)
                        : append_narrow<uint32_t>(part, block_);
    tokens = tokens.subspan(part.size());
    if (std::ssize(block_) < kTokenBytesOfBlock) continue;
    RETURN_IF_ERROR(end_block());
  }
  return absl::OkStatus();
}

absl::Status TokenWriter::end_block() {
  block_.resize(kTokenBytesOfBlock, '\0');
  const uint64_t checksum = checksum_of_block(block_, block_index_++);
  blocks_ += block_;
  blocks_.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  block_.clear();
  if (!file_ || blocks_.size() < kWrittenAtOnce) return absl::OkStatus();
  absl::Status status = file_->append(blocks_);
  blocks_.clear();
  return status;
}

absl::Status TokenWriter::finish() {
  if (!block_.empty()) {
    RETURN_IF_ERROR(end_block());
  }
  if (!file_) return absl::OkStatus();
  absl::Status status = file_->append(blocks_);
  blocks_.clear();
  return status;
}

TokenStore TokenWriter::store(const std::string& path) && {
  if (!file_) return {std::move(blocks_), size_, token_bytes_};
  return {path, file_->release(), size_, token_bytes_};
}

std::string text_of_vocabulary(const Vocabulary& vocabulary) {
  std::string text = tokenizer_json(vocabulary);
  return text.empty() ? nlohmann::json(vocabulary.texts()).dump() : text;
}

absl::StatusOr<std::string> token_cache_path(const std::string& name) {
  std::string folder = folder_in_environment("XDG_CACHE_HOME");
  if (folder.empty()) {
    const std::string home = folder_in_environment("HOME");
    if (home.empty()) {
      return absl::FailedPreconditionError(
          "the tokens of a large text are kept in a file, but neither XDG_CACHE_HOME nor HOME says "
          "in which folder");
    }
    folder = absl::StrCat(home, "/.cache");
  }
  return absl::StrCat(folder, "/qkv/", name, ".tokens");
}

std::optional<TextTokens> load_tokens(const std::string& path, const std::string& key) {
  absl::StatusOr<FileDescriptor> file = open_regular_file(path);
  struct stat status;
  if (!file.ok() || ::fstat(file->get(), &status) != 0) return std::nullopt;
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size < sizeof(Ending)) return std::nullopt;
  const auto end = bytes_at(path, *file, size - sizeof(Ending), sizeof(Ending));
  Ending ending;
  if (!end) return std::nullopt;
  std::memcpy(&ending, end->data(), sizeof ending);
  if (std::string_view(ending.mark, sizeof ending.mark) != kMark) return std::nullopt;
  if (ending.json_bytes > size - sizeof(Ending)) return std::nullopt;
  const uint64_t block_bytes = size - sizeof(Ending) - ending.json_bytes;
  const auto json = bytes_at(path, *file, block_bytes, ending.json_bytes);
  if (!json || checksum_number(*json) != ending.json_checksum) return std::nullopt;
  return tokens_from_json(path, *std::move(file), *json, block_bytes, key);
}

absl::Status append_key(TokenWriter& writer, const std::string& key, const Vocabulary& vocabulary,
                        const std::string& fingerprint, int64_t training_tokens) {
  const std::string json = nlohmann::json({{"key", key},
                                           {"vocabulary", text_of_vocabulary(vocabulary)},
                                           {"fingerprint", fingerprint},
                                           {"training_tokens", training_tokens},
                                           {"tokens", writer.size()},
                                           {"token_bytes", writer.token_bytes()}})
                               .dump();
  Ending ending{.json_bytes = json.size(), .json_checksum = checksum_number(json), .mark = {}};
  std::memcpy(ending.mark, kMark.data(), sizeof ending.mark);
  const std::string_view end(reinterpret_cast<const char*>(&ending), sizeof ending);
  return writer.file().append(absl::StrCat(json, std::string(end)));
}

}  // namespace qkv
