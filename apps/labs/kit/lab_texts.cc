#include "apps/labs/kit/lab_texts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "framework/core/error.h"

namespace qkv {
namespace {

const toml::table& file(const std::string& name) { return text_file("labs/" + name); }

Text optional_text(const TextNode& node, const std::string& owner) {
  return node ? text_of(node, owner) : Text{};
}

const toml::array& list_of(const TextNode& node, const std::string& owner) {
  if (!node.is_array()) fail(absl::StrCat("apps/labs: a list of ", owner, " is missing"));
  return *node.as_array();
}

std::vector<std::string> strings_of(const TextNode& node, const std::string& owner) {
  std::vector<std::string> strings;
  if (!node) return strings;
  for (const toml::node& each : list_of(node, owner)) {
    strings.push_back(string_of(TextNode(each), owner));
  }
  return strings;
}

// A list of tables, or one alone.
std::vector<Remark> remarks_of(const TextNode& node, const std::string& owner) {
  std::vector<Remark> remarks;
  if (!node) return remarks;
  const auto add = [&](const TextNode& each) {
    remarks.push_back({.when = strings_of(each["when"], owner), .text = text_of(each, owner)});
  };
  if (node.is_table()) {
    add(node);
  } else {
    for (const toml::node& each : list_of(node, owner)) add(TextNode(each));
  }
  return remarks;
}

// A table of a work of the literature, and what of it the toy's figures share.
Table paper_of(const TextNode& node, const std::string& owner) {
  Table table = {.title =
                     say("Beside it, {0}: {1}", source_at(string_of(node["source"], owner)).cited,
                         text_of(node["transfers"], owner))};
  for (const toml::node& row : list_of(node["rows"], owner)) {
    std::vector<Text> cells;
    for (const toml::node& cell : list_of(TextNode(row), owner)) {
      cells.emplace_back(string_of(TextNode(cell), owner));
    }
    if (table.header.empty()) {
      table.header = std::move(cells);
    } else {
      table.rows.push_back(std::move(cells));
    }
  }
  return table;
}

// A missing value has the default of LabOption.
LabOption option_of(const TextNode& table, const std::string& lab) {
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

}  // namespace

Claim claim_at(const std::string& key) {
  const auto claim = file("claims")[key];
  if (!claim.is_table()) fail(absl::StrCat("the lecture notes have no claim \"", key, "\""));
  // All of the note D is one line: its sentences have places of their own.
  const bool is_line = key[0] != 'D';
  return {.key = key,
          .place = is_line ? key.substr(0, key.find('-')) : absl::StrReplaceAll(key, {{"-", "."}}),
          .chinese = string_of(claim["zh"], key),
          .english = string_of(claim["en"], key)};
}

std::vector<std::string> keys_of_claims() { return keys_of(file("claims")); }

std::vector<Definition> definitions() {
  std::vector<Definition> all;
  for (const toml::node& each :
       list_of(TextNode(file("definitions")["definitions"]), "definitions")) {
    const TextNode node(each);
    const std::string places = string_of(node["of"], "a definition");
    all.push_back({.places = places,
                   .formula = string_of(node["formula"], places),
                   .name = string_of(node["name"], places),
                   .file = string_of(node["file"], places),
                   .remark = optional_text(node["remark"], places)});
  }
  return all;
}

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
  const TextNode node = file(lab)["sections"][section_name];
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
                     .not_testable = optional_text(node["not_testable"], name),
                     .undecided = optional_text(node["undecided"], name),
                     .control_name = node["control"].value_or(std::string(kMainControl))};
  for (const std::string& key : strings_of(node["claims"], name)) {
    section.claims.push_back(claim_at(key));
  }
  if (node["paper"]) section.figures.push_back(paper_of(node["paper"], name));
  for (const std::string& key : strings_of(node["sources"], name)) {
    section.sources.push_back(source_at(key));
  }
  return section;
}

std::vector<std::string> names_of_sections() {
  std::vector<std::string> names;
  for (const std::string& name : names_of_text_files()) {
    const auto sections = text_file(name)["sections"];
    if (!sections.is_table()) continue;
    const std::string lab(absl::StripPrefix(name, "labs/"));
    for (const std::string& section : keys_of(*sections.as_table())) {
      names.push_back(absl::StrCat(lab, ".", section));
    }
  }
  return names;
}

Text option_of_verb(const std::string& option) {
  return text_of(file("verb")[option], "--" + option);
}

Lab make_lab(const std::string& name, std::vector<Section> (*run)(const LabContext&)) {
  const toml::table& texts = file(name);
  Lab lab = {.name = name,
             .question = text_of(texts["question"], name),
             .controls = {},
             .measures_time = texts["measures_time"].value_or(false),
             .options = {},
             .settings = strings_of(texts["settings"], name),
             .run = run};
  for (const std::string& control : keys_of(*texts["controls"].as_table())) {
    lab.controls[control] = text_of(texts["controls"][control], name);
  }
  for (const std::string& section : keys_of(*texts["sections"].as_table())) {
    Section made = make_section(absl::StrCat(name, ".", section));
    if (!made.is_measured()) lab.unmeasured.push_back(std::move(made));
  }
  for (const toml::node& option : list_of(texts["options"], name)) {
    lab.options.push_back(option_of(TextNode(option), name));
  }
  return lab;
}

}  // namespace qkv
