#include "lessons/labs/texts.h"

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "lessons/labs/text_files.h"
#include "train/config/toml_parser.h"

namespace qkv {
namespace {

constexpr std::string_view kEnglish = "en", kChinese = "zh";

toml::table parsed(const std::string& file, const std::string& text) {
  ParsedToml toml = parse_toml(text);
  if (!toml.table) fail(absl::StrCat(file, ":", toml.position.line, ": ", toml.error));
  return *std::move(toml.table);
}

const toml::table& claims() {
  static const toml::table kClaims = parsed("claims.toml", kClaimsToml);
  return kClaims;
}

const toml::table& sections() {
  static const toml::table kSections = parsed("sections.toml", kSectionsToml);
  return kSections;
}

const toml::table& labs() {
  static const toml::table kLabs = parsed("labs.toml", kLabsToml);
  return kLabs;
}

std::string required_text(const toml::node_view<const toml::node>& node, const std::string& owner) {
  if (!node.is_string()) fail(absl::StrCat("lessons/labs/texts: a text of ", owner, " is missing"));
  return **node.as_string();
}

std::string optional_text(const toml::table& section, std::string_view key,
                          const std::string& owner) {
  return section.contains(key) ? required_text(section[key][kEnglish], owner) : "";
}

const toml::array& required_list(const toml::node_view<const toml::node>& node,
                                 const std::string& owner) {
  if (!node.is_array()) fail(absl::StrCat("lessons/labs/texts: a list of ", owner, " is missing"));
  return *node.as_array();
}

std::vector<std::string> required_texts(const toml::node_view<const toml::node>& node,
                                        const std::string& owner) {
  std::vector<std::string> texts;
  for (const toml::node& each : required_list(node, owner)) {
    texts.push_back(required_text(toml::node_view<const toml::node>(each), owner));
  }
  return texts;
}

// What it does not say has the default of LabOption.
LabOption option_of(const toml::table& table, const std::string& lab) {
  LabOption option = {.name = required_text(table["name"], lab),
                      .if_missing = required_text(table["default"], lab),
                      .help = required_text(table["help"][kEnglish], lab)};
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

}  // namespace

Claim claim_at(const std::string& key) {
  const auto claim = claims()[key];
  if (!claim.is_table()) fail(absl::StrCat("the lecture notes have no claim \"", key, "\""));
  return {.place = key.substr(0, key.find('-')),
          .chinese = required_text(claim[kChinese], key),
          .english = required_text(claim[kEnglish], key)};
}

std::vector<std::string> keys_of_claims() { return keys_of(claims()); }

Section make_section(const std::string& name, std::vector<Finding> findings,
                     std::vector<Figure> figures) {
  const toml::table* const table = sections().at_path(name).as_table();
  if (table == nullptr) fail(absl::StrCat("there are no texts of the section \"", name, "\""));
  Section section = {.claims = {},
                     .formula = required_text((*table)["formula"], name),
                     .prediction = required_text((*table)["prediction"][kEnglish], name),
                     .findings = std::move(findings),
                     .figures = std::move(figures),
                     .condition = optional_text(*table, "condition", name),
                     .correction = optional_text(*table, "correction", name)};
  for (const std::string& key : required_texts((*table)["claims"], name)) {
    section.claims.push_back(claim_at(key));
  }
  return section;
}

std::vector<std::string> names_of_sections() {
  std::vector<std::string> names;
  for (const std::string& lab : keys_of(sections())) {
    for (const std::string& section : keys_of(*sections()[lab].as_table())) {
      names.push_back(absl::StrCat(lab, ".", section));
    }
  }
  return names;
}

Lab make_lab(const std::string& name, std::vector<Section> (*run)(const LabContext&)) {
  const auto texts = labs()[name];
  Lab lab = {.name = name,
             .question = required_text(texts["question"][kEnglish], name),
             .control = required_text(texts["control"][kEnglish], name),
             .duration = required_text(texts["duration"], name),
             .measures_time = texts["measures_time"].value_or(false),
             .options = {},
             .run = run};
  if (texts["settings"]) lab.settings = required_texts(texts["settings"], name);
  for (const toml::node& option : required_list(texts["options"], name)) {
    lab.options.push_back(option_of(*option.as_table(), name));
  }
  return lab;
}

}  // namespace qkv
