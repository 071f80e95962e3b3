// ./qkv lab: the list, one of them, all of them. What it refuses stands in tests/cli/transcripts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "apps/labs/kit/lab_texts.h"
#include "framework/core/error.h"
#include "framework/core/text/columns.h"
#include "framework/io/files.h"
#include "tests/command_line_fixture.h"
#include "train/folder/checkpoint.h"

namespace qkv {
namespace {

using nlohmann::json;

namespace fs = std::filesystem;
using testing::HasSubstr;

class LabVerbTest : public CommandLineFixture {
 protected:
  std::vector<std::string> folders() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "runs")) {
      names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }

  const std::vector<std::string> training_ = {"lab", "scaling-train", "--steps", "3", "--seeds",
                                              "1",   "--runs",        "runs"};
};

TEST_F(LabVerbTest, OnePrintsItsVerdictAndWritesAPageAndJson) {
  const ProcessResult result = qkv({"lab", "scaling", "--d", "4,16", "--seeds=9", "--out",
                                    "page.html", "--json", "report.json"});
  expect_success(result);
  EXPECT_NE(result.output.find("Verdict: holds if the mean of the elements is 0"),
            std::string::npos);
  EXPECT_EQ(in("page.html").find("<!doctype html>"), 0u);
  EXPECT_EQ(json::parse(in("report.json"))["options"]["d"], "4,16");
}

TEST_F(LabVerbTest, HelpKeepsToEightyColumnsAndSaysWhatEachOptionMayBe) {
  const ProcessResult help = qkv({"lab", "scaling", "--help"});
  expect_success(help);
  EXPECT_THAT(help.output, HasSubstr("--d N,…  "));
  EXPECT_THAT(help.output, HasSubstr("2 to 12 whole numbers from 1 to 4096"));
  EXPECT_THAT(help.output, HasSubstr("1,4,16,64,256,1024"));
  EXPECT_THAT(qkv({"lab", "cost", "--help"}).output, HasSubstr("differ each run"));
  EXPECT_EQ(qkv({"lab", "scalng", "--help"}).exit_status, 2);
  for (const std::string& text :
       {help.output, qkv({"lab"}).output, qkv({"lab", "--help"}).output}) {
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
      EXPECT_LE(text_width(line), 80) << line;
    }
  }
}

TEST_F(LabVerbTest, SpeaksChineseWhereItIsAsked) {
  EXPECT_THAT(qkv({"lab", "--lang", "zh"}).output, HasSubstr("运行一个实验"));
  const ProcessResult result =
      qkv({"lab", "scaling", "--lang", "zh", "--d", "4,16", "--out", "page.html"});
  expect_success(result);
  EXPECT_THAT(result.output, HasSubstr("结论："));
  EXPECT_THAT(in("page.html"), HasSubstr("<html lang=\"zh-CN\""));
  EXPECT_THAT(qkv({"lab", "scaling", "--lang", "zh", "--help"}).output, HasSubstr("个整数"));
  EXPECT_THAT(qkv({"lab", "--lang", "zh", "--help"}).output, HasSubstr("列出全部实验"));
  EXPECT_EQ(qkv({"lab", "--lang", "fr", "--help"}).exit_status, 2);
}

TEST_F(LabVerbTest, ANoteOfOnesOwnHasTheVerdictsBesideItsSentences) {
  write_bytes(
      folder_ / "my.md",
      "# Products\nFirst. An angle, <so to say>. {lab: similarity.angle} And {lab: similarity}\n");
  expect_success(qkv({"lab", "--note", "my.md", "--out", "pages"}));
  const std::string page = in("pages/index.html");
  EXPECT_THAT(page, HasSubstr("First. <mark>An angle, &lt;so to say&gt;.</mark> <mark>And</mark>"));
  EXPECT_THAT(page, HasSubstr("<a href=\"similarity.html#angle\">A18</a>"));
  const auto links = [&](const std::string& to) {
    size_t count = 0;
    for (size_t at = page.find(to); at != page.npos; at = page.find(to, at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(links("similarity.html#angle"), 2 * links("similarity.html#related"));
  EXPECT_THAT(in("pages/similarity.html"), HasSubstr("<h1>similarity</h1>"));
}

TEST_F(LabVerbTest, TwoAtOnceShareAFolderOfRuns) {
  const ProcessResult both = run_process(
      {"/bin/sh", "-c", "\"$@\" > other.txt & \"$@\" > one.txt; one=$?; wait $! && exit $one", "sh",
       QKV_BINARY, "lab", "scaling-train", "--steps", "60", "--seeds", "2", "--runs", "runs"},
      {.folder = folder_.path()});
  expect_success(both);
  EXPECT_NE(in("one.txt"), "");
  EXPECT_EQ(in("one.txt"), in("other.txt"));
}

TEST_F(LabVerbTest, ATrainingThatFailsLeavesNothingBehind) {
  const ProcessResult result = qkv(training_, {.largest_file_bytes = 10000});  // as on a full disk
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.errors, HasSubstr("File too large"));
  EXPECT_THAT(folders(), testing::IsEmpty());
}

TEST_F(LabVerbTest, AStopKeepsTheModelsThatAreFinished) {
  const std::vector<std::string> longer = {"lab", "scaling-train", "--steps", "40", "--seeds",
                                           "2",   "--runs",        "runs"};
  // Until the second has begun.
  constexpr char kScript[] = R"(
    "$@" & until [ $(ls runs | wc -l) -gt 1 ]; do sleep 0.01; done 2> errors.txt
    kill $!; wait $!; exit 0)";
  std::vector<std::string> command = {"/bin/sh", "-c", kScript, "sh", QKV_BINARY};
  command.insert(command.end(), longer.begin(), longer.end());
  EXPECT_EQ(run_process(command, {.folder = folder_.path()}).exit_status, 0);
  const auto finished = [this] {
    std::map<std::string, fs::file_time_type> times;
    for (const std::string& name : folders()) {
      const std::string last = folder_ / ("runs/" + name + "/checkpoints/last.safetensors");
      const absl::StatusOr<Checkpoint> checkpoint = load_checkpoint(last);
      if (!checkpoint.ok() || checkpoint->state.step < checkpoint->config.train.steps) continue;
      times[name] = fs::last_write_time(last);
    }
    return times;
  };
  const auto before = finished();
  EXPECT_GT(before.size(), 0);
  EXPECT_LT(before.size(), 8);
  expect_success(qkv(longer));
  auto after = finished();
  EXPECT_EQ(after.size(), 8);
  for (const auto& [name, time] : before) EXPECT_EQ(after[name], time) << name;
  EXPECT_EQ(folders().size(), 8);
}

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
