#include "train/hugging_face/tokenizer_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/core/utf8.h"

namespace qkv {
namespace {

using nlohmann::ordered_json;

absl::StatusOr<Vocabulary> word_level_vocabulary(const nlohmann::json& vocab) {
  if (!vocab.is_object() || vocab.empty()) {
    return absl::InvalidArgumentError("\"vocab\" is not an object with tokens and their numbers");
  }
  std::vector<std::string> texts(vocab.size());
  for (const auto& [text, number] : vocab.items()) {
    if (!number.is_number_unsigned() || number.get<uint64_t>() >= texts.size() ||
        !texts[number.get<size_t>()].empty()) {
      return absl::InvalidArgumentError(absl::StrCat("\"vocab\" has to number its ", texts.size(),
                                                     " tokens from 0 on, each once; see \"",
                                                     escape(text), "\""));
    }
    texts[number.get<size_t>()] = text;
  }
  return Vocabulary::create(std::move(texts));
}

}  // namespace

std::string hugging_face_tokenizer(const Vocabulary& vocabulary) {
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
  ordered_json vocab = ordered_json::object();
  for (const std::string& text : vocabulary.texts()) vocab[text] = vocab.size();
  // A text that is no token is an error there, as here: no token has the text "".
  json["model"] = {{"type", "WordLevel"}, {"vocab", std::move(vocab)}, {"unk_token", ""}};
  return json.dump(2) + "\n";
}

absl::StatusOr<Vocabulary> parse_hugging_face_tokenizer(std::string_view text,
                                                        const std::string& source) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto problem = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": ", what));
  };
  if (!json.is_object() || !json.contains("model") || !json["model"].is_object()) {
    return problem("is not a tokenizer of Hugging Face's: it is no JSON object with a \"model\"");
  }
  const auto& model = json["model"];
  const auto type = model.find("type"), vocab = model.find("vocab");
  if (type == model.end() || *type != "WordLevel" || vocab == model.end()) {
    return problem("its model is none of the type \"WordLevel\" with a \"vocab\"");
  }
  auto vocabulary = word_level_vocabulary(*vocab);
  if (!vocabulary.ok()) return problem(std::string(vocabulary.status().message()));
  return vocabulary;
}

}  // namespace qkv
