#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "apps/labs/kit/lab_texts.h"
#include "apps/report/report.h"
#include "apps/report/writers/page_files.h"
#include "apps/report/writers/page_frame.h"
#include "apps/report/writers/section_html.h"
#include "tests/html_check.h"

namespace qkv {
namespace {

constexpr Language kFirst = Language::kEnglish;

Section measured() {
  Section section = {.name = "force",
                     .claims = {{"A1", "A1", "注意<力>", "attention & \"more\""}},
                     .formula = "p = q / k",
                     .prediction = {"It is less.", "它更小。"}};
  section.add(found("size", "1", "1", true));
  section.add(beyond(found("far", "2", "3", false)));
  section.show(LineChart{.title = "lines", .series = {{"one", {1, 2}, {3, std::nan("")}}}});
  section.conditions = {{.text = {"a < b", "a 小于 b"}}};
  section.slip = {"It is.", "应为是。"};
  section.sources = {{"Vaswani et al. 2017", "https://arxiv.org/abs/1706.03762"}};
  return section;
}

Report report_with(Section section) {
  return {.name = "example", .question = {"Is it so?", "是吗？"}, .sections = {std::move(section)}};
}

size_t place_of(const std::string& page, const std::string& part) {
  const size_t at = page.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return at;
}

void expect_well_formed(const std::string& page) {
  const std::string body = page.substr(0, page.find("<script"));
  EXPECT_EQ(first_wrong_tag(absl::StrCat(body, "</body></html>")), "");
  EXPECT_EQ(body.find("nan"), std::string::npos);
}

TEST(LabPageTest, IsWellFormedAndHoldsNoMarkupOfItsTexts) {
  const std::string page = report_page(report_with(measured()), kFirst);
  expect_well_formed(page);
  place_of(page, "注意&lt;力&gt;");
  place_of(page, "attention &amp; &quot;more&quot;");
  place_of(page, "a &lt; b. ");
}

TEST(LabPageTest, AsksForNothingAndLetsOnlyItsOwnScriptRun) {
  const std::string page = report_page(report_with(measured()), kFirst);
  for (const char* const part : {"src=", "@import", "url(", "<link", "http:"}) {
    const std::string before_script = page.substr(0, page.find("<script"));
    EXPECT_EQ(before_script.find(part), std::string::npos) << part;
  }
  const std::string digest = absl::Base64Escape(absl::HexStringToBytes(kReportScriptDigest));
  place_of(page, absl::StrCat("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-",
                              digest, "'\">"));
  const std::string open = "<script type=\"module\">";
  EXPECT_EQ(page.find(kReportScript), place_of(page, open) + open.size());
  EXPECT_EQ(page.find("<script", place_of(page, open) + 1), std::string::npos);
}

TEST(LabPageTest, IsReadFromAbove) {
  const std::string page = report_page(report_with(measured()), kFirst);
  size_t before = 0;
  for (const char* const part : {"注意&lt;力&gt;", "What do you expect?", "It is less.",
                                 "<div class=\"formula\">p = q / k</div>", "<svg", "✓ holds if",
                                 "Correction: It is.", "https://arxiv.org/abs/1706.03762",
                                 "Measurements", "<td>far (beyond the condition)</td>"}) {
    const size_t at = page.find(part, before);
    ASSERT_NE(at, std::string::npos) << part;
    before = at;
  }
}

TEST(LabPageTest, TheTableAndTheExpectationAreFolded) {
  const std::string page = report_page(report_with(measured()), kFirst);
  EXPECT_EQ(page.find("<details open"), std::string::npos);
  const size_t table = place_of(page, "<td>size</td>");
  EXPECT_GT(page.rfind("<details>", table), page.rfind("</details>", table));
}

TEST(LabPageTest, IsThereInBothLanguagesAndBeginsWithTheOneAskedFor) {
  const Report report = report_with(measured());
  const std::string english = report_page(report, Language::kEnglish),
                    chinese = report_page(report, Language::kChinese);
  place_of(english, "<html lang=\"en\"");
  place_of(chinese, "<html lang=\"zh-CN\"");
  const auto body_of = [](const std::string& page) { return page.substr(page.find("<body>")); };
  EXPECT_EQ(body_of(english), body_of(chinese));
  place_of(english, "它更小。");
  place_of(english, "更正：应为是。");
  // What the note says in English is told in English only.
  const size_t in_chinese = place_of(english, "<div class=\"in-zh\"");
  const size_t end = english.find("<figure>", in_chinese);
  EXPECT_EQ(english.substr(in_chinese, end - in_chinese).find("attention &amp;"),
            std::string::npos);
}

TEST(LabPageTest, WhatIsTheSameInBothLanguagesIsThereOnce) {
  EXPECT_EQ(in_both([](Language) { return std::string("x"); }), "x");
  const std::string both = in_both([](Language language) {
    return std::string(language == Language::kChinese ? "力" : "force");
  });
  EXPECT_LT(place_of(both, "force"), place_of(both, "力"));
  EXPECT_EQ(in_both(Text("a < b")), "a &lt; b");
}

TEST(LabPageTest, SaysHowItWasMadeAndWhatItsPlacesMean) {
  Report report = report_with(measured());
  EXPECT_EQ(report_page(report, kFirst).find("differ each run"), std::string::npos);
  EXPECT_EQ(report_page(report, kFirst).find("index.html"), std::string::npos);
  report.is_control = true;
  report.measures_time = true;
  report.options = {{"d", "4"}};
  report.sections[0].control = {"nothing is divided", "什么都不除"};
  const std::string page = report_page(report, kFirst, /*beside_index=*/true);
  for (const char* const part :
       {"./qkv lab example --control --d 4", "<a href=\"index.html\">", "<a href=\"note-A.html\">",
        "<a href=\"note-A.html#A1\">", "Control: nothing is divided", "A1: line 1 of the note A, ",
        "Figures of time differ each run.", "Holm's correction"}) {
    place_of(page, part);
  }
}

TEST(LabPageTest, WhatCannotBeTestedSaysWhy) {
  Section section = {.name = "eyes", .claims = {{"A1", "A1", "人眼", "eyes"}}, .prediction = ""};
  section.not_testable = {"there are no eyes here", "这里没有眼睛"};
  const std::string page = report_page(report_with(section), kFirst);
  place_of(page, "· not testable here</span>\nThere are no eyes here");
  EXPECT_EQ(page.find("What do you expect?"), std::string::npos);
  EXPECT_EQ(page.find("Measurements"), std::string::npos);
}

TEST(NotePageTest, HasEachSentenceWithItsVerdictAndOnePicture) {
  Section denies = measured();
  denies.name = "denies";
  denies.findings = {found("other", "1", "2", false)};
  denies.claims.push_back({"A2", "A2", "又", "again"});
  const std::vector<Report> reports = {report_with(measured()), report_with(denies)};
  const std::string page = note_page(reports, 'A', kFirst);
  expect_well_formed(page);
  place_of(page, "<article id=\"A1\">");
  EXPECT_LT(place_of(page, "✗ does not hold</span>\nOther: predicted 1"),
            place_of(page, "<article id=\"A2\">"));
  place_of(page, "<a href=\"example.html#force\">");
  place_of(page, "<a href=\"example.html#denies\">");
  EXPECT_EQ(page.find("<figure>"), page.rfind("<figure>"));
  EXPECT_GT(place_of(page, "Picture: see <a href=\"#A1\">A1</a>"),
            place_of(page, "<article id=\"A2\">"));
}

TEST(IndexTest, HasTotalsAndLinksToEverySection) {
  Section other = measured();
  other.name = "other";
  other.findings = {found("size", "1", "1", true)};
  other.claims = {{"B1", "B1", "二", "two"}, {"B2", "B2", "三", "three"}};
  const std::string page = index_page({report_with(measured()), report_with(other)},
                                      {{.places = "A9",
                                        .formula = "a < b",
                                        .name = "less",
                                        .file = "less.cc",
                                        .remark = "Strictly."}},
                                      kFirst);
  expect_well_formed(page);
  for (const char* const part :
       {"<span class=\"holds\" style=\"flex: 2\">2</span>",
        "<span class=\"holds-if\" style=\"flex: 1\">1</span>", "<a href=\"example.html\">example",
        "<a href=\"example.html#force\">A1</a>", "<a href=\"example.html#other\">B1, B2</a>",
        "<a href=\"note-A.html\">", "<a href=\"note-B.html\">", ">a &lt; b</span>",
        "A1: line 1 of the note A, ", "<div class=\"formula\">a &lt; b</div>",
        "<p class=\"soft\">Strictly.</p>", "<td>less<p class=\"soft\">less.cc</p>"}) {
    place_of(page, part);
  }
  EXPECT_EQ(page.find("note-C.html"), std::string::npos);
}

TEST(SectionExtrasTest, AreOfSectionsThatExistAndOfRegionsThatDo) {
  const std::vector<std::string> names = names_of_sections();
  const auto exists = [&](const std::string& name) { return std::ranges::count(names, name) == 1; };
  for (const auto& [section, slider] : sliders_of_sections()) {
    EXPECT_TRUE(exists(section)) << section;
    EXPECT_NE(kReportScript.find(absl::StrCat(slider, ":")), std::string::npos) << slider;
  }
  for (const auto& [section, region] : code_of_sections()) {
    EXPECT_TRUE(exists(section)) << section;
    EXPECT_TRUE(code_regions().contains(region)) << region;
  }
}

TEST(SectionExtrasTest, CodeIsShownAsItStandsInTheExample) {
  Section section = measured();
  section.name = "differences";
  Report report = report_with(section);
  report.name = "scaling";
  const std::string page = report_page(report, kFirst);
  place_of(page, "Tensor weights_of(const Tensor&amp; scores) {");
  EXPECT_EQ(page.find("// []"), std::string::npos);
}

}  // namespace
}  // namespace qkv
