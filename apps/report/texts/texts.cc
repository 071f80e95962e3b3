#include "apps/report/texts/texts.h"

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "framework/core/each_of.h"
#include "framework/core/error.h"

namespace qkv {
namespace {

constexpr std::string_view kEnglish = "en", kChinese = "zh", kWords = "words";

const std::map<std::string, toml::table>& files() {
  static const auto kFiles = [] {
    std::map<std::string, toml::table> tables;
    for (const auto& [name, text] : text_files()) {
      ParsedToml toml = parse_toml(text);
      if (!toml.table) fail(absl::StrCat(name, ".toml:", toml.position.line, ": ", toml.error));
      tables[name] = *std::move(toml.table);
    }
    return tables;
  }();
  return kFiles;
}

void add(std::map<std::string, Text>& texts, const std::string& key, Text text) {
  if (texts.emplace(key, std::move(text)).second) return;
  fail(absl::StrCat("apps/*/texts: \"", key, "\" is there twice"));
}

void add_keyed(std::map<std::string, Text>& texts, const toml::table& table,
               const std::string& path) {
  for (const auto& [name, node] : table) {
    const toml::table* const inner = node.as_table();
    if (inner == nullptr || (path.empty() && name.str() == kWords)) continue;
    const std::string key = absl::StrCat(path, path.empty() ? "" : ".", std::string(name.str()));
    const bool is_text = inner->contains(kEnglish) || inner->contains(kChinese);
    if (is_text) {
      add(texts, key, text_of(TextNode(node), key));
    } else {
      add_keyed(texts, *inner, key);
    }
  }
}

const std::map<std::string, Text>& dictionary() {
  static const auto kDictionary = [] {
    std::map<std::string, Text> texts = keyed_texts("report/");
    texts.merge(keyed_texts("runs/"));
    for (const auto& [name, table] : files()) {
      const toml::table* const words = table[kWords].as_table();
      if (words == nullptr) continue;
      for (const auto& [english, chinese] : *words) {
        const std::string key(english.str());
        add(texts, key, {key, string_of(TextNode(chinese), key)});
      }
    }
    return texts;
  }();
  return kDictionary;
}

}  // namespace

absl::StatusOr<Language> find_language(const std::string& name) {
  if (const auto language = value_of<Language>(name)) return *language;
  return invalid_argument("--lang takes en or zh, not \"", name, "\"");
}

Text operator+(const Text& a, const Text& b) { return {a.en + b.en, a.zh + b.zh}; }

Text filled_in(const Text& text, const std::string& name, const Text& value) {
  const std::string place = absl::StrCat("{", name, "}");
  return {absl::StrReplaceAll(text.en, {{place, value.en}}),
          absl::StrReplaceAll(text.zh, {{place, value.zh}})};
}

const toml::table& text_file(const std::string& name) {
  const auto found = files().find(name);
  if (found == files().end()) fail(absl::StrCat("there are no texts ", name, ".toml"));
  return found->second;
}

std::vector<std::string> names_of_text_files() {
  return each_of(files(), [](const auto& file) { return file.first; });
}

std::string string_of(const TextNode& node, const std::string& owner) {
  if (!node.is_string()) fail(absl::StrCat("apps/*/texts: a text of ", owner, " is missing"));
  return **node.as_string();
}

Text text_of(const TextNode& node, const std::string& owner) {
  return {string_of(node[kEnglish], owner), string_of(node[kChinese], owner)};
}

std::map<std::string, Text> keyed_texts(const std::string& beginning) {
  std::map<std::string, Text> texts;
  for (const auto& [name, table] : files()) {
    if (absl::StartsWith(name, beginning)) add_keyed(texts, table, "");
  }
  return texts;
}

std::string json_of_texts(const std::string& beginning) {
  nlohmann::json texts = nlohmann::json::object();
  for (const auto& [key, text] : keyed_texts(beginning)) texts[key] = {text.en, text.zh};
  return texts.dump();
}

std::string texts_element(const std::string& beginning) {
  // No text may end the element.
  return absl::StrCat("<script type=\"application/json\" id=\"texts\">",
                      absl::StrReplaceAll(json_of_texts(beginning), {{"<", "\\u003c"}}),
                      "</script>");
}

Text translated(const std::string& key, const std::vector<Text>& arguments) {
  const auto found = dictionary().find(key);
  if (found == dictionary().end()) {
    fail(absl::StrCat("apps/*/texts: there is no \"", key, "\""));
  }
  std::vector<std::pair<std::string, std::string>> english, chinese;
  for (size_t i = 0; i < arguments.size(); ++i) {
    english.emplace_back(absl::StrCat("{", i, "}"), arguments[i].en);
    chinese.emplace_back(absl::StrCat("{", i, "}"), arguments[i].zh);
  }
  return {absl::StrReplaceAll(found->second.en, english),
          absl::StrReplaceAll(found->second.zh, chinese)};
}

}  // namespace qkv
