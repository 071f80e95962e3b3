#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lessons/labs/lab.h"
#include "lessons/report/report.h"

// What the labs say, in English and Chinese, which stands in lessons/labs/texts and is compiled in:
// NAME.toml has all texts of the lab NAME, claims.toml the sentences of the lecture notes,
// sources.toml the literature, words.toml what several labs say. Errors throw: the tests read every
// text.
namespace qkv {

// By its key: "A37", or "D6-2", the second of several sentences of one line.
Claim claim_at(const std::string& key);
std::vector<std::string> keys_of_claims();

// "vaswani2017 table 3": a key of sources.toml, and what of that work.
Source source_at(const std::string& key);

// A section of a lab, "scaling.variance", with its texts and the claims that it judges.
Section make_section(const std::string& name, std::vector<Finding> findings = {},
                     std::vector<Figure> figures = {});
std::vector<std::string> names_of_sections();

// The lab of that name.
Lab make_lab(const std::string& name, std::vector<Section> (*run)(const LabContext&));

// A text whose Chinese stands in a table [words] under the English one, as it is in the code:
// "variance, d = $0" = "方差，d = $0". The arguments, numbers or texts, come where $0, $1 … stand.
Text translated(const std::string& english, const std::vector<Text>& arguments);
std::vector<std::string> words_with_a_translation();

inline Text as_text(const Text& text) { return text; }
inline Text as_text(const std::string& text) { return text; }
inline Text as_text(const char* text) { return text; }
template <class Number>
requires std::is_arithmetic_v<Number> Text as_text(Number number) { return absl::StrCat(number); }

template <class... Arguments>
Text say(const std::string& english, const Arguments&... arguments) {
  return translated(english, {as_text(arguments)...});
}

}  // namespace qkv
