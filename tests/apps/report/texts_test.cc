#include "apps/report/texts/texts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "framework/core/error.h"
#include "framework/io/files.h"
#include "framework/nn/layer_options.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

// A text, by where it stands: "labs/softmax: question".
using Texts = std::vector<std::pair<std::string, Text>>;

// Whether it has a character between U+4000 and U+9FFF.
bool is_chinese(const std::string& text) {
  for (size_t i = 0; i + 2 < text.size(); ++i) {
    if (text[i] >= '\xE4' && text[i] <= '\xE9' && text[i + 1] < 0 && text[i + 2] < 0) return true;
  }
  return false;
}

void collect(const toml::node& node, const std::string& place, Texts& texts) {
  if (const toml::array* const array = node.as_array()) {
    for (const toml::node& each : *array) collect(each, place, texts);
  }
  // What is no formula, and is in one language only.
  if (node.is_string() && is_chinese(**node.as_string()) && !absl::EndsWith(place, " formula")) {
    texts.push_back({place, {"", "?"}});
  }
  const toml::table* const table = node.as_table();
  if (table == nullptr) return;
  if (table->contains("en") || table->contains("zh")) {
    const auto in = [&](const char* language) {
      return (*table)[language].value<std::string>().value_or("");
    };
    texts.push_back({place, {in("en"), in("zh")}});
    return;
  }
  for (const auto& [key, inner] : *table) {
    collect(inner, absl::StrCat(place, " ", std::string(key.str())), texts);
  }
}

// All of all files.
Texts all_texts() {
  Texts texts;
  for (const std::string& name : names_of_text_files()) {
    for (const auto& [key, node] : text_file(name)) {
      if (key.str() != "words") {
        collect(node, absl::StrCat(name, ": ", std::string(key.str())), texts);
        continue;
      }
      for (const auto& [english, chinese] : *node.as_table()) {
        const std::string text(english.str());
        texts.push_back(
            {absl::StrCat(name, ": ", text), {text, string_of(TextNode(chinese), text)}});
      }
    }
  }
  return texts;
}

std::multiset<std::string> matches(const std::string& text, const std::regex& pattern, int group) {
  std::multiset<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
    found.insert((*at)[group].str());
  }
  return found;
}

// The sources of a folder in apps/ without their comments; literals side by side are one.
std::string sources(const std::string& folder, const std::set<std::string>& extensions) {
  static const std::regex kComment("(^|[ \n])//[^\n]*"), kSeam("\"\\s*\n\\s*\"");
  std::string all;
  for (const auto& file :
       fs::recursive_directory_iterator(fs::path(QKV_SOURCE_DIR) / "apps" / folder)) {
    if (!extensions.contains(file.path().extension())) continue;
    all += read_file(file.path(), 1 << 20).value();
  }
  all = std::regex_replace(all, kComment, "$1");
  return extensions.contains(".js") ? all : std::regex_replace(all, kSeam, "");
}

// The end of a string that begins at `begin`, with "${…}" in it.
size_t end_of_string(const std::string& code, size_t begin) {
  int depth = 0;
  for (size_t i = begin + 1; i < code.size(); ++i) {
    if (code[i] == '\\') ++i;
    if (code[begin] == '`' && code.compare(i, 2, "${") == 0) ++depth;
    if (depth > 0 && code[i] == '}') --depth;
    if (depth == 0 && code[i] == code[begin]) return i;
  }
  fail("a string without an end");
}

// The strings in the first arguments of calls, "say(", with their quotes.
std::set<std::string> first_arguments(const std::string& code, const std::string& call) {
  const std::regex begin("[^.\\w](" + call + ")\\(");
  std::set<std::string> strings;
  for (std::sregex_iterator at(code.begin(), code.end(), begin), end; at != end; ++at) {
    int depth = 0;
    for (size_t i = static_cast<size_t>(at->position() + at->length()); depth >= 0; ++i) {
      if (code[i] == '"' || code[i] == '`') {
        const size_t last = end_of_string(code, i);
        strings.insert(code.substr(i, last + 1 - i));
        i = last;
      }
      if (absl::StrContains("([{", code.substr(i, 1))) ++depth;
      if (absl::StrContains(")]}", code.substr(i, 1))) --depth;
      if (depth == 0 && code[i] == ',') break;
    }
  }
  return strings;
}

std::string without_quotes(const std::string& literal) {
  return absl::StrReplaceAll(literal.substr(1, literal.size() - 2), {{"\\\"", "\""}});
}

TEST(TextsTest, EveryTextIsThereInBothLanguagesWithTheSamePlacesOfValues) {
  static const std::regex kPlace("\\{[-\\w.]+\\}"), kSentence("[a-z]{3}.* .*[a-z]{3}");
  const Texts texts = all_texts();
  ASSERT_GT(texts.size(), 1000);
  for (const auto& [place, text] : texts) {
    EXPECT_FALSE(absl::StripAsciiWhitespace(text.en).empty()) << place;
    EXPECT_FALSE(absl::StripAsciiWhitespace(text.zh).empty()) << place;
    if (absl::StartsWith(place, "labs/claims")) continue;  // quoted, with formulas of their own
    EXPECT_EQ(matches(text.en, kPlace, 0), matches(text.zh, kPlace, 0)) << place;
    const std::string plain = std::regex_replace(text.en, std::regex("\\{[^{}]*\\}|d?logits"), "");
    EXPECT_TRUE(is_chinese(text.zh) || !std::regex_search(plain, kSentence)) << place;
  }
}

TEST(TextsTest, WhatCppSaysHasATextAndNoTextIsLeftOver) {
  std::string code;
  for (const char* const folder : {"report", "runs", "labs", "lesson", "check"})
    code += sources(folder, {".cc", ".h"});
  const std::set<std::string> said = first_arguments(code, "say");
  ASSERT_GT(said.size(), 400);
  for (const std::string& literal : said) {
    EXPECT_NO_THROW(translated(without_quotes(literal), {})) << literal;
  }
  for (const std::string& name : names_of_text_files()) {
    const toml::table* const words = text_file(name)["words"].as_table();
    if (words == nullptr) continue;
    for (const auto& [english, chinese] : *words) {
      const std::string key = absl::StrReplaceAll(std::string(english.str()), {{"\"", "\\\""}});
      EXPECT_TRUE(absl::StrContains(code, absl::StrCat("\"", key, "\""))) << name << ": " << key;
    }
  }
  for (const char* const files : {"report/report", "report/gradcheck", "runs/"}) {
    for (const auto& [key, text] : keyed_texts(files)) {
      EXPECT_TRUE(said.contains("\"" + key + "\"")) << key;
    }
  }
}

// A page: its script, and the files of its texts.
struct Page {
  std::string script, files;
  // Tables whose names come from the lesson: symbols of its matrices, words in other texts,
  // settings.
  std::set<std::string> open_tables;
};
const std::vector<Page>& pages() {
  static const std::vector<Page> kPages = {
      {sources("lesson/page", {".js"}), "lesson/", {"symbol", "word", "form_of"}},
      {sources("report/page", {".js"}), "report/sliders", {}}};
  return kPages;
}

// `form.${key}` as a pattern of keys.
std::regex pattern_of(const std::string& literal) {
  const std::string escaped =
      std::regex_replace(without_quotes(literal), std::regex("[.|()]"), "\\$&");
  return std::regex(std::regex_replace(escaped, std::regex("\\$\\{[^}]*\\}"), "(.+)"));
}

// What is said by keys: literals, and patterns of those that are put together.
struct Said {
  std::set<std::string> literals;
  std::vector<std::regex> patterns;
};

Said said_in(const std::string& script) {
  Said said;
  std::set<std::string> strings = first_arguments(script, "say|bothOf|inBoth|withName|hasText");
  for (const std::string& each : matches(script, std::regex("`[a-z_]+\\.[a-z_]*\\$\\{[^`]*`"), 0)) {
    strings.insert(each);
  }
  for (const std::string& each : strings) {
    if (each[0] == '"' || !absl::StrContains(each, "${")) {
      said.literals.insert(without_quotes(each));
    } else {
      said.patterns.push_back(pattern_of(each));
    }
  }
  return said;
}

TEST(TextsTest, WhatAPageSaysHasAText) {
  for (const Page& page : pages()) {
    const std::map<std::string, Text> texts = keyed_texts(page.files);
    const auto has = [&](const std::string& key) { return texts.contains(key); };
    std::set<std::string> tables;
    for (const auto& [key, text] : texts) tables.insert(key.substr(0, key.find('.')));
    const Said said = said_in(page.script);
    for (const std::string& key : said.literals) EXPECT_TRUE(has(key)) << key;
    // Keys that are handed on to who says them, and those of questions.
    for (const std::string& key : matches(page.script, std::regex("\"([a-z_]+\\.[a-z_]+)\""), 1)) {
      if (!tables.contains(key.substr(0, key.find('.')))) continue;
      EXPECT_TRUE(has(key) || (has(key + ".ask") && has(key + ".answer"))) << key;
    }
    for (const std::regex& pattern : said.patterns) {
      EXPECT_TRUE(std::ranges::any_of(
          texts, [&](const auto& text) { return std::regex_match(text.first, pattern); }));
    }
  }
}

TEST(TextsTest, EveryFormThatAPageOffersHasAName) {
  std::set<std::string> names, offered;
  for (const Named<Position>& each : kNames<Position>) offered.insert(each.name);
  for (const Named<Projections>& each : kNames<Projections>) offered.insert(each.name);
  for (const auto& [key, text] : keyed_texts("lesson/")) {
    if (absl::StartsWith(key, "form_of.")) names.insert(key.substr(key.find('.') + 1));
  }
  EXPECT_EQ(names, offered);
}

TEST(TextsTest, EveryChapterHasANameAndSaysWhatItIsAndWhy) {
  static const std::regex kChapter("Chapter = \\{\\s*id: \"(\\w+)\",(?:\\s*texts: \"(\\w+)\")?"),
      kTexts("\\btexts: \"(\\w+)\"");
  const std::string& script = pages()[0].script;
  std::multiset<std::string> owners = matches(script, kTexts, 1);
  for (std::sregex_iterator at(script.begin(), script.end(), kChapter), end; at != end; ++at) {
    if (!(*at)[2].matched) owners.insert((*at)[1].str());
  }
  ASSERT_GT(owners.size(), 30);
  const std::map<std::string, Text> texts = keyed_texts(pages()[0].files);
  for (const std::string& owner : owners) {
    EXPECT_TRUE(texts.contains(owner + ".name")) << owner;
    EXPECT_TRUE(texts.contains(owner + ".what")) << owner;
    const auto why = texts.lower_bound(owner + ".why");
    EXPECT_TRUE(why != texts.end() && absl::StartsWith(why->first, owner + ".why")) << owner;
  }
}

bool has_word(const std::string& script, const std::string& word) {
  const auto is_part = [&](size_t i) {
    const auto c = static_cast<unsigned char>(script[i]);
    return std::isalnum(c) != 0 || c == '_' || c == '.';
  };
  for (size_t at = script.find(word); at != script.npos; at = script.find(word, at + 1)) {
    if (!is_part(at - 1) && !is_part(at + word.size())) return true;
  }
  return false;
}

// What a key is put together of stands in the script: "mask" of `break.${id}`.
bool is_put_together(const std::string& key, const std::regex& pattern, const std::string& script) {
  std::smatch parts;
  return std::regex_match(key, parts, pattern) &&
         std::all_of(parts.begin() + 1, parts.end(),
                     [&](const auto& part) { return has_word(script, part.str()); });
}

TEST(TextsTest, NoTextOfAPageIsLeftOver) {
  for (const Page& page : pages()) {
    const Said said = said_in(page.script);
    for (const auto& [key, text] : keyed_texts(page.files)) {
      const bool is_said =
          absl::StrContains(page.script, absl::StrCat("\"", key, "\"")) ||
          page.open_tables.contains(key.substr(0, key.find('.'))) ||
          std::ranges::any_of(said.patterns, [&key = key, &page](const std::regex& pattern) {
            return is_put_together(key, pattern, page.script);
          });
      EXPECT_TRUE(is_said) << page.files << ": " << key;
    }
  }
}

TEST(TextsTest, CodeHasNoChineseOfItsOwn) {
  // 更 is a token of a task; notes have titles; a switch names each language in itself.
  const std::regex allowed("更|kLectureNotes[^;]*;|>中文<");
  for (const char* const folder : {"report", "runs", "labs", "lesson", "check"}) {
    const std::string code = std::regex_replace(sources(folder, {".cc", ".h", ".js"}), allowed, "");
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(code, '\n'))) {
      EXPECT_FALSE(is_chinese(line)) << folder << ": " << line;
    }
  }
}

TEST(TextsTest, WhatIsNotThereIsAnError) {
  EXPECT_THROW(say("what nobody has put into Chinese"), Error);
  EXPECT_THROW(text_file("labs/nothing"), Error);
}

TEST(TextsTest, ValuesComeWhereTheirPlacesAre) {
  EXPECT_EQ(say("{0} and {1}", 1, "{0}"), Text("1 and {0}", "1 和 {0}"));
}

TEST(TextsTest, APageHasItsTextsAsAnElementThatNoTextEnds) {
  const std::string element = texts_element("lesson/");
  EXPECT_TRUE(absl::StartsWith(element, "<script type=\"application/json\" id=\"texts\">{"));
  EXPECT_TRUE(absl::StrContains(element, "\"loss.name\":[\"Loss\",\"损失\"]"));
  EXPECT_EQ(element.find('<', 1), element.size() - std::string("</script>").size());
}

}  // namespace
}  // namespace qkv
