#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "apps/labs/kit/lab_texts.h"
#include "framework/core/error.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

// All labs, as they are written.
std::string sources() {
  std::string all;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(QKV_SOURCE_DIR "/apps/labs")) {
    if (file.path().extension() == ".cc") all += read_file(file.path(), 1 << 20).value();
  }
  return all;
}

TEST(LabTextsTest, EveryClaimIsThereInBothLanguagesAndWithoutSignsOfMarkdown) {
  for (const std::string& key : keys_of_claims()) {
    const Claim claim = claim_at(key);
    EXPECT_FALSE(claim.chinese.empty() || claim.english.empty()) << key;
    for (const char* const sign : {"**", "$", "\\"}) {
      EXPECT_FALSE(absl::StrContains(claim.chinese, sign)) << key;
    }
    EXPECT_EQ(key[0], claim.place[0]);
    EXPECT_FALSE(absl::StrContains(claim.place, '-'));
  }
}

TEST(LabTextsTest, NoSentenceOfTheNotesIsThereTwice) {
  std::set<std::pair<std::string, std::string>> sentences;
  for (const std::string& key : keys_of_claims()) {
    const Claim claim = claim_at(key);
    EXPECT_TRUE(sentences.emplace(claim.place, claim.chinese).second) << key;
  }
}

TEST(LabTextsTest, EveryClaimIsJudgedByASection) {
  std::set<std::pair<std::string, std::string>> judged;
  for (const std::string& name : names_of_sections()) {
    for (const Claim& claim : make_section(name).claims) judged.emplace(claim.place, claim.chinese);
  }
  for (const std::string& key : keys_of_claims()) {
    const Claim claim = claim_at(key);
    EXPECT_TRUE(judged.contains({claim.place, claim.chinese})) << key;
  }
}

// The numbers of the formulas are those of the code only where that is there.
TEST(LabTextsTest, EveryDefinitionStandsInTheCodeAndHasPlacesInTheNotesInTheirOrder) {
  const auto place_of = [](const std::string& places) {
    return std::pair(places[0], std::atoi(places.c_str() + 1));
  };
  std::pair<char, int> last;
  for (const Definition& each : definitions()) {
    EXPECT_LE(last, place_of(each.places)) << each.places;
    last = place_of(each.places);
    const auto code = read_file(absl::StrCat(QKV_SOURCE_DIR "/", each.file), 1 << 20);
    EXPECT_TRUE(code.ok() && absl::StrContains(*code, each.name)) << each.places;
    EXPECT_FALSE(each.formula.empty()) << each.places;
  }
}

TEST(LabTextsTest, EverySectionIsOneOfALab) {
  const std::string labs = sources();
  for (const std::string& name : names_of_sections()) {
    const bool is_measured = make_section(name).is_measured();
    EXPECT_EQ(absl::StrContains(labs, absl::StrCat("\"", name, "\"")), is_measured) << name;
  }
}

TEST(LabTextsTest, EverySectionCitesTheLiteratureAndCorrectsOnlyWhatAFindingShows) {
  for (const std::string& name : names_of_sections()) {
    const Section section = make_section(name);
    EXPECT_FALSE(section.sources.empty()) << name;
    for (const Remark& correction : section.corrections) {
      EXPECT_FALSE(correction.when.empty()) << name;
    }
  }
}

TEST(LabTextsTest, EveryWorkOfTheLiteratureIsCited) {
  std::set<std::string> cited;
  for (const std::string& name : names_of_sections()) {
    for (const Source& source : make_section(name).sources) cited.insert(source.url);
  }
  for (const auto& [key, source] : text_file("labs/sources")) {
    EXPECT_TRUE(cited.contains(string_of(TextNode(source)["url"], "a source"))) << key.str();
  }
}

TEST(LabTextsTest, ALabHasItsOptionsInTheirOrderAndTheSettingsOfItsTrainings) {
  const Lab count = make_lab("heads-count", nullptr);
  EXPECT_EQ(count.settings, std::vector<std::string>{"data.length=8"});
  ASSERT_EQ(count.options.size(), 3);
  const LabOption& heads = count.options[0];
  EXPECT_EQ(wanted_by(heads).en,
            "3 to 6 divisors of 32, among them 1, in ascending order, separated by commas");
  EXPECT_EQ(heads.if_missing, "1,2,4,8,16,32");
  EXPECT_EQ(heads.help.en, "of the models; 32 are always among them");
  EXPECT_EQ(count.options[2].name, "seeds");
  EXPECT_TRUE(make_lab("cost", nullptr).measures_time);
}

TEST(LabTextsTest, WhatIsNotThereIsAnError) {
  EXPECT_THROW(claim_at("A999"), Error);
  EXPECT_THROW(claim_at("A37.zh"), Error);
  EXPECT_THROW(make_section("scaling.nothing"), Error);
  EXPECT_THROW(make_section("scaling"), Error);
  EXPECT_THROW(make_lab("nothing", nullptr), Error);
  EXPECT_THROW(source_at("nobody1900"), Error);
}

}  // namespace
}  // namespace qkv
