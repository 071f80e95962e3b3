#include "data/text/tokenizer_json.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "data/text/byte_pairs.h"
#include "framework/core/text/utf8.h"
#include "framework/io/files.h"
#include "framework/io/json_mistake.h"

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

template <class... Parts>
absl::Status problem(const Parts&... what) {
  return data_loss("tokenizer: ", what...);
}

// The values of a field that are done here as tokenizers does them; a missing one is null.
struct Field {
  const char* place;
  const char* done;
};

constexpr Field kFields[] = {
    {"/version", R"(["1.0", null])"},
    {"/truncation", "[null]"},
    {"/padding", "[null]"},
    {"/normalizer/type", "[null]"},
    // These add no token; ByteLevel changes the places of tokens in the text there.
    {"/post_processor/type", R"([null, "ByteLevel", "TemplateProcessing"])"},
    {"/post_processor/single", R"([null, [{"Sequence": {"id": "A", "type_id": 0}}]])"},
    {"/model/type", R"(["BPE", "WordLevel"])"},
    // Each byte is a token, so unk_token, fuse_unk and byte_fallback of BPE do nothing.
    {"/model/dropout", "[null, 0]"},
    {"/model/continuing_subword_prefix", R"([null, ""])"},
    {"/model/end_of_word_suffix", R"([null, ""])"},
    {"/model/ignore_merges", "[null, false]"}};
constexpr Field kFieldsOfBytes[] = {{"/pre_tokenizer/type", R"(["ByteLevel"])"},
                                    {"/pre_tokenizer/add_prefix_space", "[false]"},
                                    {"/pre_tokenizer/use_regex", "[true, null]"},
                                    {"/decoder/type", R"(["ByteLevel"])"}};
constexpr Field kFieldsOfCharacters[] = {{"/pre_tokenizer/pattern", R"([{"Regex": "[\\s\\S]"}])"},
                                         {"/pre_tokenizer/behavior", R"(["Isolated"])"},
                                         {"/pre_tokenizer/invert", "[false]"},
                                         {"/decoder/type", R"(["Fuse"])"},
                                         {"/added_tokens", "[[], null]"}};
constexpr Field kFieldsOfSpacedTokens[] = {{"/decoder/type", "[null]"},
                                           {"/added_tokens", "[[], null]"}};
constexpr Field kFieldsOfAddedToken[] = {
    {"/single_word", "[false]"}, {"/lstrip", "[false]"}, {"/rstrip", "[false]"}};

// Not a copy: copying deep nesting would need a deep stack.
const Json& at(const Json& object, const char* place) {
  static const auto& none = *new Json;
  const Json::json_pointer pointer(place);
  return object.contains(pointer) ? object.at(pointer) : none;
}

std::string text_at(const Json& object, const char* place) {
  const Json& value = at(object, place);
  return value.is_string() ? value.get<std::string>() : "";
}

absl::Status check_fields(const Json& object, const std::string& name,
                          std::span<const Field> fields) {
  for (const auto& [place, done] : fields) {
    const Json &value = at(object, place), values = Json::parse(done);
    if (std::ranges::count(values, value) > 0) continue;
    std::string others;
    for (const Json& each : values)
      absl::StrAppend(&others, others.empty() ? "" : " or ", each.dump());
    return problem("\"", name, absl::StrReplaceAll(place + 1, {{"/", "."}}), "\" is ", shown(value),
                   ", where qkv has only ", others, "; make a tokenizer with that");
  }
  return absl::OkStatus();
}

// Tokens that a text has as they are, before it is cut into pieces, as tokenizers numbers them: one
// of model.vocab has its number there, others follow. Puts those into the vocab.
absl::StatusOr<std::set<std::string>> take_added_tokens(const Json& list, Json& vocab) {
  std::set<std::string> texts;
  if (!list.is_array() && !list.is_null()) return problem("added_tokens must be a list");
  for (size_t i = 0; i < list.size(); ++i) {
    RETURN_IF_ERROR(
        check_fields(list[i], absl::StrCat("added_tokens.", i, "."), kFieldsOfAddedToken));
    const std::string text = text_at(list[i], "/content");
    if (text.empty()) return problem("added_tokens.", i, " has no content");
    const Json& number = vocab.emplace(text, vocab.size()).first.value();
    // One turn finds all, which is so of any two that both are normalized, or neither.
    const bool in_turn = at(list[i], "/normalized") == at(list[0], "/normalized");
    if (!in_turn || at(list[i], "/id") != number) {
      return problem("added_tokens.", i, " is ", shown(text), " with the id ",
                     shown(at(list[i], "/id")), ", which must be ", shown(number),
                     ", and all must be normalized, or none");
    }
    texts.insert(text);
  }
  return texts;
}

// The texts of the tokens 0, 1, …, written as bytes, unless they are `plain` or all are.
absl::StatusOr<std::vector<std::string>> texts_of(const Json& vocab, bool all_are_plain,
                                                  const std::set<std::string>& plain) {
  std::vector<std::string> texts(vocab.size());
  for (const auto& [text, id] : vocab.items()) {
    const bool is_token = id.is_number_unsigned() && id.get<uint64_t>() < texts.size();
    if (!is_token || !texts[id.get<size_t>()].empty()) {
      return problem("the tokens of model.vocab are not 0 … ", texts.size() - 1,
                     ", each once: see \"", escape(text), "\"");
    }
    const std::optional<std::string> bytes =
        all_are_plain || (plain.contains(text) && bytes_of(text).value_or(text) == text)
            ? text
            : bytes_of(text);
    if (!bytes || (plain.contains(text) && *bytes != text)) {
      return problem("\"", escape(text), "\" of model.vocab is not written as bytes");
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
  if (!at(model, "/merges").is_array()) {
    return problem("model.merges must be a list");
  }
  const auto token_of = [&](const std::string& text) {
    const auto found = vocab.find(text);
    return found == vocab.end() ? int64_t{-1} : found->get<int64_t>();
  };
  std::vector<TokenMerge> merges;
  for (const Json& merge : model["merges"]) {
    const auto pair = pair_of(merge);
    if (!pair) return problem("merge ", merges.size(), " of model.merges must be a pair");
    merges.push_back({token_of(pair->first), token_of(pair->second),
                      token_of(absl::StrCat(pair->first, pair->second))});
  }
  return merges;
}

std::optional<int64_t> place_of(const std::vector<std::string>& texts, const std::string& text) {
  const auto found = std::ranges::find(texts, text);
  return found == texts.end() ? std::nullopt : std::optional(found - texts.begin());
}

// {"a":0,"b":1}, without a search for the text among those before.
OrderedJson numbered(const std::vector<std::string>& texts) {
  OrderedJson vocab = OrderedJson::object();
  auto& object = vocab.get_ref<OrderedJson::object_t&>();
  for (const std::string& text : texts) {
    object.OrderedJson::object_t::Container::emplace_back(text, object.size());
  }
  return vocab;
}

std::string file_of(const OrderedJson& added, const OrderedJson& pieces, const OrderedJson& decoder,
                    const OrderedJson& model) {
  const OrderedJson file = {
      {"version", "1.0"},          {"truncation", nullptr}, {"padding", nullptr},
      {"added_tokens", added},     {"normalizer", nullptr}, {"pre_tokenizer", pieces},
      {"post_processor", nullptr}, {"decoder", decoder},    {"model", model}};
  return file.dump() + "\n";
}

}  // namespace

std::string shown(const Json& value) {
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  constexpr size_t kLongest = 40;
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
  return printable(text);
}

std::string listed_tokenizer_json(const Vocabulary& vocabulary) {
  const bool spaced = vocabulary.is_spaced();
  const OrderedJson characters = {{"type", "Split"},
                                  {"pattern", {{"Regex", "[\\s\\S]"}}},
                                  {"behavior", "Isolated"},
                                  {"invert", false}};
  const OrderedJson words = {{"type", "WhitespaceSplit"}}, fused = {{"type", "Fuse"}};
  // Without an unknown token, an unknown text is an error there, as here: no token has the text "".
  const std::optional<int64_t> unknown = vocabulary.unknown();
  return file_of(OrderedJson::array(), spaced ? words : characters, spaced ? nullptr : fused,
                 {{"type", "WordLevel"},
                  {"vocab", numbered(vocabulary.texts())},
                  {"unk_token", unknown ? vocabulary.texts()[*unknown] : ""}});
}

std::string tokenizer_json(const Vocabulary& vocabulary) {
  if (vocabulary.kind() == TokenKind::kCharacters) {
    return vocabulary.unknown() ? listed_tokenizer_json(vocabulary) : "";
  }
  std::vector<std::string> texts = vocabulary.texts();
  for (std::string& text : texts) text = written(text);
  OrderedJson added = OrderedJson::array();
  for (const int64_t token : vocabulary.added()) {
    std::string& text = texts[token];
    text = vocabulary.texts()[token];
    added.push_back({{"id", token},
                     {"content", text},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  OrderedJson vocab = numbered(texts);
  OrderedJson model;
  if (vocabulary.kind() == TokenKind::kWords) {
    const std::string& unknown = vocabulary.texts()[*vocabulary.unknown()];
    model = {{"type", "WordLevel"}, {"vocab", std::move(vocab)}, {"unk_token", written(unknown)}};
  } else {
    OrderedJson merges = OrderedJson::array();
    const auto text_of = [&](int64_t token) { return texts[token]; };
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
  return file_of(added, bytes, bytes, model);
}

absl::StatusOr<Vocabulary> vocabulary_of_tokenizer(std::string_view json) {
  Json file = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (file.is_discarded()) return problem("is not JSON: ", json_mistake(json));
  if (!at(file, "/model").is_object()) return problem("it must be a JSON object with a model");
  Json& model = file["model"];
  if (!model.contains("type")) {  // as older files
    const bool has_pieces = model.contains("max_input_chars_per_word");
    model["type"] = model.contains("merges") ? "BPE" : has_pieces ? "WordPiece" : "WordLevel";
  }
  const bool is_word_level = model["type"] == "WordLevel";
  const std::string pieces = is_word_level ? text_at(file, "/pre_tokenizer/type") : "";
  const bool is_spaced = pieces == "WhitespaceSplit", is_list = is_spaced || pieces == "Split";
  for (const std::span<const Field> fields :
       {std::span<const Field>(kFields), is_spaced ? std::span<const Field>(kFieldsOfSpacedTokens)
                                         : is_list ? std::span<const Field>(kFieldsOfCharacters)
                                                   : std::span<const Field>(kFieldsOfBytes)}) {
    RETURN_IF_ERROR(check_fields(file, "", fields));
  }
  if (!at(model, "/vocab").is_object()) {
    return problem("model.vocab must be an object with tokens and their numbers");
  }
  ASSIGN_OR_RETURN(const auto added, take_added_tokens(at(file, "/added_tokens"), model["vocab"]));
  ASSIGN_OR_RETURN(auto texts, texts_of(model["vocab"], is_list, added));
  std::vector<int64_t> found_first;
  for (const std::string& text : added) found_first.push_back(model["vocab"][text]);
  const std::string unknown = text_at(model, "/unk_token");
  if (is_list) {
    const std::optional<int64_t> place = place_of(texts, unknown);
    absl::StatusOr<Vocabulary> vocabulary = Vocabulary::create(std::move(texts), place);
    if (!vocabulary.ok() || vocabulary->is_spaced() == is_spaced) return vocabulary;
    return problem("\"pre_tokenizer.type\" is \"", pieces, "\", but model.vocab has ",
                   is_spaced ? "characters" : "longer texts");
  }
  if (is_word_level) {
    const std::optional<int64_t> place = place_of(texts, bytes_of(unknown).value_or(""));
    return Vocabulary::of_words(std::move(texts), place.value_or(-1), std::move(found_first));
  }
  ASSIGN_OR_RETURN(std::vector<TokenMerge> merges, merges_of(model));
  return Vocabulary::of_byte_pairs(std::move(texts), std::move(merges), std::move(found_first));
}

absl::StatusOr<Vocabulary> read_tokenizer(const std::string& path) {
  constexpr uint64_t kMostBytes = 1 << 27;
  ASSIGN_OR_RETURN(const std::string json, read_regular_file(path, kMostBytes));
  absl::StatusOr<Vocabulary> vocabulary = vocabulary_of_tokenizer(json);
  if (vocabulary.ok()) return vocabulary;
  return invalid_argument(path, ": ", vocabulary.status().message());
}

}  // namespace qkv
