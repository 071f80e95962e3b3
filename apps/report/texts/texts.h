#pragma once

#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/report/texts/text.h"
#include "train/config/toml_parser.h"

// The texts of lessons, in English and Chinese, stand in apps/APP/ROOM/NAME.toml and are
// compiled in. A text has a key, its place in its file:
//
//   [budget]
//   title.en = "The row as a budget"     # say("budget.title")
//   title.zh = "把一行看作预算"
//
// or it is its own key, where it is short and stands in C++:
//
//   [words]
//   "variance, d = {0}" = "方差，d = {0}"     # say("variance, d = {0}", d)
//
// {0}, {1}, … or {name} are places of values. A missing text throws: the tests read every text.
namespace qkv {

// The files apps/APP/ROOM/NAME.toml by "APP/NAME", which cmake/texts.cmake makes C++ of.
const std::map<std::string, std::string>& text_files();

using TextNode = toml::node_view<const toml::node>;

// The file apps/APP/ROOM/NAME.toml, by "APP/NAME"; and the names of all.
const toml::table& text_file(const std::string& name);
std::vector<std::string> names_of_text_files();

// A string, and a table {en, zh}, which belong to `owner`.
std::string string_of(const TextNode& node, const std::string& owner);
Text text_of(const TextNode& node, const std::string& owner);

// All texts with keys in the files whose names begin so: "lesson/".
std::map<std::string, Text> keyed_texts(const std::string& beginning);
// The same for a page, which apps/report/texts/texts.js reads: {"KEY": [English, 中文]}; as an
// element.
std::string json_of_texts(const std::string& beginning);
std::string texts_element(const std::string& beginning);

// A text by its key, of apps/report and apps/runs, or by its English, of the tables [words]
// of all files.
Text translated(const std::string& key, const std::vector<Text>& arguments);

inline Text as_text(const Text& text) { return text; }
inline Text as_text(const std::string& text) { return text; }
inline Text as_text(const char* text) { return text; }
template <class Number>
requires std::is_arithmetic_v<Number> Text as_text(Number number) { return absl::StrCat(number); }

template <class... Arguments>
Text say(const std::string& key, const Arguments&... arguments) {
  return translated(key, {as_text(arguments)...});
}

}  // namespace qkv
