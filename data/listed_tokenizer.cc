#include "data/listed_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/core/utf8.h"

namespace qkv {

using nlohmann::ordered_json;

ordered_json numbered(const std::vector<std::string>& texts) {
  ordered_json vocab = ordered_json::object();
  // Without a search for the text among those before.
  auto& object = vocab.get_ref<ordered_json::object_t&>();
  for (const std::string& text : texts) {
    object.ordered_json::object_t::Container::emplace_back(text, object.size());
  }
  return vocab;
}

std::string listed_tokenizer_json(const Vocabulary& vocabulary) {
  const bool spaced = std::ranges::any_of(vocabulary.texts(), [](const std::string& text) {
    return code_point_length(text) < text.size();
  });
  ordered_json json = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  json["added_tokens"] = ordered_json::array();
  json["normalizer"] = nullptr;
  if (spaced) {
    json["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
  } else {
    json["pre_tokenizer"] = {{"type", "Split"},
                             {"pattern", {{"Regex", "[\\s\\S]"}}},
                             {"behavior", "Isolated"},
                             {"invert", false}};
  }
  json["post_processor"] = nullptr;
  json["decoder"] = nullptr;
  if (!spaced) json["decoder"] = {{"type", "Fuse"}};
  // A text that is no token is an error there, as here: no token has the text "".
  json["model"] = {
      {"type", "WordLevel"}, {"vocab", numbered(vocabulary.texts())}, {"unk_token", ""}};
  return json.dump() + "\n";
}

absl::StatusOr<Vocabulary> vocabulary_of_listed_tokenizer(const nlohmann::json& vocab) {
  if (!vocab.is_object() || vocab.empty()) {
    return absl::DataLossError("tokenizer: model.vocab is no object with tokens and their numbers");
  }
  std::vector<std::string> texts(vocab.size());
  for (const auto& [text, number] : vocab.items()) {
    if (!number.is_number_unsigned() || number.get<uint64_t>() >= texts.size() ||
        !texts[number.get<size_t>()].empty()) {
      return absl::DataLossError(absl::StrCat("tokenizer: the tokens of model.vocab are not 0 … ",
                                              texts.size() - 1, ", each once: see \"", escape(text),
                                              "\""));
    }
    texts[number.get<size_t>()] = text;
  }
  return Vocabulary::create(std::move(texts));
}

}  // namespace qkv
