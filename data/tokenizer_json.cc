#include "data/tokenizer_json.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/listed_tokenizer.h"
#include "data/tokens/byte_pairs.h"
#include "framework/core/utf8.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

using Json = nlohmann::json;  // finds a key fast
using OrderedJson = nlohmann::ordered_json;

// Every byte is written as one character that can be seen: 188 bytes as the character of that
// number, the others as those from U+0100 on, so that " the" is "Ġthe".
struct Alphabet {
  std::array<std::string, 256> characters;
  std::map<std::string, char, std::less<>> bytes;
};

const Alphabet& alphabet() {
  static const auto& made = *new Alphabet([] {
    Alphabet alphabet;
    constexpr size_t kPrinted = 188;
    const std::vector<std::string> bytes = texts_of_bytes();
    for (size_t i = 0; i < bytes.size(); ++i) {
      const auto byte = static_cast<unsigned char>(bytes[i].front());
      const size_t code = i < kPrinted ? byte : 0x100 + i - kPrinted;
      std::string& character = alphabet.characters[byte];
      if (code < 0x80) {
        character = static_cast<char>(code);
      } else {
        character = {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
      }
      alphabet.bytes[character] = static_cast<char>(byte);
    }
    return alphabet;
  }());
  return made;
}

std::string written(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += alphabet().characters[static_cast<unsigned char>(byte)];
  return text;
}

std::optional<std::string> bytes_of(std::string_view written) {
  std::string bytes;
  while (!written.empty()) {
    const size_t length = std::max<size_t>(code_point_length(written), 1);
    const auto found = alphabet().bytes.find(written.substr(0, length));
    if (found == alphabet().bytes.end()) return std::nullopt;
    bytes += found->second;
    written.remove_prefix(length);
  }
  return bytes;
}

absl::Status problem(const std::string& what) {
  return absl::DataLossError(absl::StrCat("tokenizer: ", what));
}

std::string text_in(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool is(const Json& object, const char* key, bool value, bool if_missing) {
  const auto found = object.find(key);
  return found == object.end() ? value == if_missing : *found == value;
}

// The texts of the tokens 0, 1, ….
absl::StatusOr<std::vector<std::string>> texts_of(const Json& vocab) {
  if (!vocab.is_object()) return problem("model.vocab is no object");
  std::vector<std::string> texts(vocab.size());
  for (const auto& [text, id] : vocab.items()) {
    const bool is_token = id.is_number_unsigned() && id.get<uint64_t>() < texts.size();
    if (!is_token || !texts[id.get<size_t>()].empty()) {
      return problem(absl::StrCat("the tokens of model.vocab are not 0 … ", texts.size() - 1));
    }
    const std::optional<std::string> bytes = bytes_of(text);
    if (!bytes || bytes->empty()) {
      return problem(absl::StrCat("\"", escape(text), "\" of model.vocab is not written as bytes"));
    }
    texts[id.get<size_t>()] = *bytes;
  }
  return texts;
}

// "a b", or ["a", "b"].
std::optional<std::pair<std::string, std::string>> pair_of(const Json& merge) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {{merge[0].get<std::string>(), merge[1].get<std::string>()}};
  }
  if (!merge.is_string()) return std::nullopt;
  const std::string text = merge.get<std::string>();
  const size_t space = text.find(' ');
  if (space == std::string::npos) return std::nullopt;
  return {{text.substr(0, space), text.substr(space + 1)}};
}

absl::StatusOr<std::vector<TokenMerge>> merges_of(const Json& model) {
  const Json& vocab = model["vocab"];
  if (!model.contains("merges") || !model["merges"].is_array()) {
    return problem("model.merges is no list");
  }
  const auto token_of = [&](const std::string& text) {
    const auto found = vocab.find(text);
    return found == vocab.end() ? int64_t{-1} : found->get<int64_t>();
  };
  std::vector<TokenMerge> merges;
  for (const Json& merge : model["merges"]) {
    const auto pair = pair_of(merge);
    if (!pair) return problem(absl::StrCat("merge ", merges.size(), " of model.merges is no pair"));
    merges.push_back({token_of(pair->first), token_of(pair->second),
                      token_of(absl::StrCat(pair->first, pair->second))});
  }
  return merges;
}

}  // namespace

std::string tokenizer_json(const Vocabulary& vocabulary) {
  if (vocabulary.kind() == TokenKind::kCharacters) return "";
  std::vector<std::string> texts = vocabulary.texts();
  for (std::string& text : texts) text = written(text);
  OrderedJson vocab = numbered(texts);
  OrderedJson model;
  if (vocabulary.kind() == TokenKind::kWords) {
    const std::string& unknown = vocabulary.texts()[static_cast<size_t>(*vocabulary.unknown())];
    model = {{"type", "WordLevel"}, {"vocab", std::move(vocab)}, {"unk_token", written(unknown)}};
  } else {
    OrderedJson merges = OrderedJson::array();
    const auto text_of = [&](int64_t token) {
      return written(vocabulary.texts()[static_cast<size_t>(token)]);
    };
    for (const TokenMerge& merge : vocabulary.merges()) {
      merges.push_back(absl::StrCat(text_of(merge.left), " ", text_of(merge.right)));
    }
    model = {{"type", "BPE"},
             {"dropout", nullptr},
             {"unk_token", nullptr},
             {"continuing_subword_prefix", nullptr},
             {"end_of_word_suffix", nullptr},
             {"fuse_unk", false},
             {"byte_fallback", false},
             {"ignore_merges", false},
             {"vocab", std::move(vocab)},
             {"merges", std::move(merges)}};
  }
  const OrderedJson bytes = {{"type", "ByteLevel"},
                             {"add_prefix_space", false},
                             {"trim_offsets", true},
                             {"use_regex", true}};
  const OrderedJson tokenizer = {
      {"version", "1.0"},          {"truncation", nullptr},
      {"padding", nullptr},        {"added_tokens", OrderedJson::array()},
      {"normalizer", nullptr},     {"pre_tokenizer", bytes},
      {"post_processor", nullptr}, {"decoder", bytes},
      {"model", std::move(model)}};
  return tokenizer.dump() + "\n";
}

absl::StatusOr<Vocabulary> vocabulary_of_tokenizer(std::string_view json) {
  const Json file = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object() || !file.contains("model") || !file.contains("pre_tokenizer")) {
    return problem("it is no JSON object with a pre_tokenizer and a model");
  }
  const Json& model = file["model"];
  const std::string type = text_in(model, "type");
  if ((type != "BPE" && type != "WordLevel") || !model.contains("vocab")) {
    return problem("its model is neither BPE nor WordLevel with a vocab");
  }
  const Json& before = file["pre_tokenizer"];
  const std::string pieces = text_in(before, "type");
  if (type == "WordLevel" && (pieces == "Split" || pieces == "WhitespaceSplit")) {
    return vocabulary_of_listed_tokenizer(model["vocab"]);
  }
  if (pieces != "ByteLevel" || !is(before, "add_prefix_space", false, true) ||
      !is(before, "use_regex", true, true)) {
    return problem("its pre_tokenizer is not GPT-2's, ByteLevel without a space before the text");
  }
  absl::StatusOr<std::vector<std::string>> texts = texts_of(model["vocab"]);
  if (!texts.ok()) return texts.status();
  if (type == "WordLevel") {
    const auto unknown = bytes_of(text_in(model, "unk_token"));
    const auto found = std::ranges::find(*texts, unknown.value_or(""));
    return Vocabulary::of_words(*texts, found == texts->end() ? -1 : found - texts->begin());
  }
  absl::StatusOr<std::vector<TokenMerge>> merges = merges_of(model);
  if (!merges.ok()) return merges.status();
  return Vocabulary::of_byte_pairs(*std::move(texts), *std::move(merges));
}

absl::StatusOr<Vocabulary> read_tokenizer(const std::string& path) {
  constexpr uint64_t kMostBytes = 1 << 27;
  const absl::StatusOr<std::string> json = read_file(path, kMostBytes);
  if (!json.ok()) return json.status();
  absl::StatusOr<Vocabulary> vocabulary = vocabulary_of_tokenizer(*json);
  if (vocabulary.ok()) return vocabulary;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", vocabulary.status().message()));
}

}  // namespace qkv
