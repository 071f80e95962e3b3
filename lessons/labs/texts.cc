#include "lessons/labs/texts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "framework/core/error.h"
#include "lessons/labs/text_files.h"
#include "train/config/toml_parser.h"

namespace qkv {
namespace {

constexpr std::string_view kEnglish = "en", kChinese = "zh";

using Entry = toml::node_view<const toml::node>;

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

const toml::table& file(const std::string& name) {
  const auto found = files().find(name);
  if (found == files().end()) fail(absl::StrCat("lessons/labs/texts has no ", name, ".toml"));
  return found->second;
}

bool is_lab(const std::string& name) { return file(name).contains("question"); }

std::string string_of(const Entry& node, const std::string& owner) {
  if (!node.is_string()) fail(absl::StrCat("lessons/labs/texts: a text of ", owner, " is missing"));
  return **node.as_string();
}

Text text_of(const Entry& node, const std::string& owner) {
  return {string_of(node[kEnglish], owner), string_of(node[kChinese], owner)};
}

Text optional_text(const Entry& node, const std::string& owner) {
  return node ? text_of(node, owner) : Text{};
}

const toml::array& list_of(const Entry& node, const std::string& owner) {
  if (!node.is_array()) fail(absl::StrCat("lessons/labs/texts: a list of ", owner, " is missing"));
  return *node.as_array();
}

std::vector<std::string> strings_of(const Entry& node, const std::string& owner) {
  std::vector<std::string> strings;
  if (!node) return strings;
  for (const toml::node& each : list_of(node, owner)) {
    strings.push_back(string_of(Entry(each), owner));
  }
  return strings;
}

// A list of tables, or one alone.
std::vector<Remark> remarks_of(const Entry& node, const std::string& owner) {
  std::vector<Remark> remarks;
  if (!node) return remarks;
  const auto add = [&](const Entry& each) {
    remarks.push_back({.when = strings_of(each["when"], owner), .text = text_of(each, owner)});
  };
  if (node.is_table()) {
    add(node);
  } else {
    for (const toml::node& each : list_of(node, owner)) add(Entry(each));
  }
  return remarks;
}

// What it does not say has the default of LabOption.
LabOption option_of(const Entry& table, const std::string& lab) {
  LabOption option = {.name = string_of(table["name"], lab),
                      .if_missing = string_of(table["default"], lab),
                      .help = text_of(table["help"], lab)};
  option.least = table["least"].value_or(option.least);
  option.most = table["most"].value_or(option.most);
  option.fewest = table["fewest"].value_or(option.fewest);
  option.longest = table["longest"].value_or(option.longest);
  option.numbers = value_of<Numbers>(table["numbers"].value_or("whole")).value();
  return option;
}

std::vector<std::string> keys_of(const toml::table& table) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : table) keys.emplace_back(key.str());
  return keys;
}

// The Chinese of all that labs say in code, by the English.
const std::map<std::string, std::string>& dictionary() {
  static const auto kDictionary = [] {
    std::map<std::string, std::string> words;
    for (const auto& [name, table] : files()) {
      const toml::table* const list = table["words"].as_table();
      if (list == nullptr) continue;
      for (const auto& [english, chinese] : *list) {
        const std::string text = string_of(Entry(chinese), std::string(english.str()));
        const auto [at, is_new] = words.emplace(english.str(), text);
        if (is_new || at->second == text) continue;
        fail(absl::StrCat(name, ".toml: \"", at->first, "\" has another translation elsewhere"));
      }
    }
    return words;
  }();
  return kDictionary;
}

}  // namespace

Claim claim_at(const std::string& key) {
  const auto claim = file("claims")[key];
  if (!claim.is_table()) fail(absl::StrCat("the lecture notes have no claim \"", key, "\""));
  // All of the note D is one line: its sentences have places of their own.
  const bool is_line = key[0] != 'D';
  return {.key = key,
          .place = is_line ? key.substr(0, key.find('-')) : absl::StrReplaceAll(key, {{"-", "."}}),
          .chinese = string_of(claim[kChinese], key),
          .english = string_of(claim[kEnglish], key)};
}

std::vector<std::string> keys_of_claims() { return keys_of(file("claims")); }

Source source_at(const std::string& key) {
  const size_t space = key.find(' ');
  const auto source = file("sources")[key.substr(0, space)];
  if (!source.is_table()) fail(absl::StrCat("sources.toml has no \"", key, "\""));
  const std::string place = space == std::string::npos ? "" : ", " + key.substr(space + 1);
  return {.cited = string_of(source["cited"], key) + place, .url = string_of(source["url"], key)};
}

Section make_section(const std::string& name, std::vector<Finding> findings,
                     std::vector<Figure> figures) {
  const std::string lab = name.substr(0, name.find('.'));
  const std::string section_name = name.substr(std::min(name.size(), lab.size() + 1));
  const Entry node = file(lab)["sections"][section_name];
  if (!node.is_table()) fail(absl::StrCat("there are no texts of the section \"", name, "\""));
  Section section = {.name = section_name,
                     .claims = {},
                     .formula = node["formula"].is_table() ? text_of(node["formula"], name)
                                                           : Text(node["formula"].value_or("")),
                     .prediction = optional_text(node["prediction"], name),
                     .findings = std::move(findings),
                     .figures = std::move(figures),
                     .conditions = remarks_of(node["condition"], name),
                     .corrections = remarks_of(node["correction"], name),
                     .slip = optional_text(node["slip"], name),
                     .is_construction = node["by_construction"].value_or(false),
                     .not_testable = optional_text(node["not_testable"], name),
                     .control_name = node["control"].value_or(std::string(kMainControl))};
  for (const std::string& key : strings_of(node["claims"], name)) {
    section.claims.push_back(claim_at(key));
  }
  for (const std::string& key : strings_of(node["sources"], name)) {
    section.sources.push_back(source_at(key));
  }
  return section;
}

std::vector<std::string> names_of_sections() {
  std::vector<std::string> names;
  for (const auto& [lab, table] : files()) {
    if (!is_lab(lab)) continue;
    for (const std::string& section : keys_of(*table["sections"].as_table())) {
      names.push_back(absl::StrCat(lab, ".", section));
    }
  }
  return names;
}

Lab make_lab(const std::string& name, std::vector<Section> (*run)(const LabContext&)) {
  const toml::table& texts = file(name);
  Lab lab = {.name = name,
             .question = text_of(texts["question"], name),
             .controls = {},
             .duration = string_of(texts["duration"], name),
             .measures_time = texts["measures_time"].value_or(false),
             .options = {},
             .settings = strings_of(texts["settings"], name),
             .run = run};
  for (const std::string& control : keys_of(*texts["controls"].as_table())) {
    lab.controls[control] = text_of(texts["controls"][control], name);
  }
  for (const std::string& section : keys_of(*texts["sections"].as_table())) {
    Section made = make_section(absl::StrCat(name, ".", section));
    if (!made.not_testable.empty()) lab.untestable.push_back(std::move(made));
  }
  for (const toml::node& option : list_of(texts["options"], name)) {
    lab.options.push_back(option_of(Entry(option), name));
  }
  return lab;
}

std::vector<std::string> words_with_a_translation() {
  std::vector<std::string> words;
  for (const auto& [english, chinese] : dictionary()) words.push_back(english);
  return words;
}

Text translated(const std::string& english, const std::vector<Text>& arguments) {
  const auto found = dictionary().find(english);
  if (found == dictionary().end()) {
    fail(absl::StrCat("lessons/labs/texts: there is no Chinese for \"", english, "\""));
  }
  Text text = {english, found->second};
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string place = absl::StrCat("$", i);
    text = {absl::StrReplaceAll(text.en, {{place, arguments[i].en}}),
            absl::StrReplaceAll(text.zh, {{place, arguments[i].zh}})};
  }
  return text;
}

}  // namespace qkv
