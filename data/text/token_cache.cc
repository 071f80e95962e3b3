#include "data/text/token_cache.h"

#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "data/tokenizer_json.h"
#include "framework/io/files.h"
#include "framework/io/safetensors_checksums.h"

namespace qkv {
namespace {

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

// What has the right checksum may still be of another program, so nothing is taken for granted.
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
