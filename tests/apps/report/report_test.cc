#include "apps/report/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "apps/report/axis.h"
#include "apps/report/statistics.h"
#include "framework/core/error.h"
#include "framework/core/text/columns.h"

namespace qkv {
namespace {

using Samples = std::vector<double>;

constexpr Language kEnglish = Language::kEnglish;

Section section_of(std::vector<Finding> findings) {
  return {.name = "s", .claims = {}, .prediction = "", .findings = std::move(findings)};
}

const Finding kAgrees = found("a", "1", "1", true);
const Finding kDisagrees = found("a", "1", "2", false);
const Finding kUndecided = larger("a", Samples{1, 2}, Samples{2, 1});
const Finding kNotSeen = larger("a", Samples{1, 2, 1, 2, 1}, Samples{2, 1, 1, 1, 2});

TEST(VerdictTest, IsThatOfTheFindings) {
  const std::pair<std::vector<Finding>, ClaimVerdict> cases[] = {
      {{kAgrees, kAgrees}, ClaimVerdict::kHolds},
      {{kAgrees, kUndecided, kDisagrees}, ClaimVerdict::kDoesNotHold},
      {{kAgrees, kUndecided}, ClaimVerdict::kUndecided},
      {{kAgrees, kNotSeen, kUndecided}, ClaimVerdict::kNotSupported},
      {{kDisagrees, premise(kDisagrees)}, ClaimVerdict::kNotTrained},
      {{kAgrees, premise(kUndecided)}, ClaimVerdict::kUndecided},
      {{kAgrees, premise(kAgrees)}, ClaimVerdict::kHolds},
      {{kAgrees, beyond(kDisagrees)}, ClaimVerdict::kHoldsIf},
      {{kAgrees, beyond(kAgrees)}, ClaimVerdict::kHolds},
      {{kAgrees, beyond(kUndecided)}, ClaimVerdict::kHoldsIf},
      {{kDisagrees, beyond(kDisagrees)}, ClaimVerdict::kDoesNotHold}};
  for (const auto& [findings, verdict] : cases) {
    EXPECT_EQ(section_of(findings).verdict(), verdict) << section_of(findings).reason().en;
  }
}

TEST(VerdictTest, OfWhatCannotBeTestedIsThatItIsNot) {
  Section section = section_of({});
  section.not_testable = "eyes are not here";
  EXPECT_EQ(section.verdict(), ClaimVerdict::kNotTestable);
  EXPECT_EQ(section.reason(), Text("eyes are not here"));
}

TEST(VerdictTest, OfWhatNothingMeasuresIsUndecidedAndSaysWhatItWouldTake) {
  Section section = section_of({});
  section.undecided = "it would take rain";
  EXPECT_EQ(section.verdict(), ClaimVerdict::kUndecided);
  EXPECT_EQ(section.reason(), Text("it would take rain"));
}

TEST(VerdictTest, HoldsOnACondition) {
  Section section = section_of({kAgrees, beyond(kDisagrees)});
  section.conditions = {{.text = "it rains"}};
  EXPECT_EQ(section.verdict_text().en, "holds if it rains");
}

TEST(VerdictTest, TheReasonIsTheFindingThatDecides) {
  EXPECT_EQ(section_of({kAgrees, kDisagrees}).reason().en, "a: predicted 1, measured 2.");
  EXPECT_EQ(section_of({kAgrees, beyond(kDisagrees)}).reason().zh, "条件之外：a：预测 1，实测 2。");
  for (const Finding& unseen : {kNotSeen, kUndecided}) {
    const std::string reason = section_of({kAgrees, unseen}).reason().en;
    EXPECT_NE(reason.find("the first is larger"), std::string::npos) << reason;
  }
}

TEST(RemarkTest, IsSaidOnlyWhereItsFindingsAreAsItSays) {
  Section section = section_of({named("far", kDisagrees), named("near", kAgrees)});
  section.corrections = {
      {.when = {"far agrees"}, .text = "never"},
      {.when = {"far disagrees", "near undecided"}, .text = "never"},
      {.when = {"far disagrees", "near agrees"}, .text = "not {far.predicted}, {far}"}};
  EXPECT_EQ(section.set_right().en, "Correction: not 1, 2");
  section.corrections = {{.when = {"near disagrees"}, .text = "never"}};
  EXPECT_TRUE(section.set_right().empty());
  section.corrections = {{.when = {"nowhere disagrees"}, .text = "never"}};
  EXPECT_THROW(section.set_right(), Error);
  section.corrections = {{.when = {"near is right"}, .text = "never"}};
  EXPECT_THROW(section.set_right(), Error);
}

TEST(RemarkTest, HasTheNumbersOfBothThatAreCompared) {
  Section section = section_of({named("pair", larger("a", Samples{1, 2}, Samples{5, 6.5}))});
  section.corrections = {{.when = {"pair disagrees"}, .text = "{pair.first} < {pair.second}"}};
  EXPECT_EQ(section.set_right().en, "Correction: 1.5 ± 0.71 < 5.75 ± 1.1");
}

TEST(SentenceTest, HoldsAsAWholeWhereNoSectionDeniesIt) {
  const Claim first = {"A1", "A1", "", ""}, second = {"D6-2", "D6.2", "", ""};
  Section holds = section_of({kAgrees}), denies = section_of({kDisagrees}),
          no_test = section_of({});
  no_test.not_testable = "there are no eyes";
  holds.claims = {second, first};
  denies.claims = {second};
  no_test.claims = {first};
  const std::vector<Report> reports = {{.name = "one", .question = "", .sections = {holds, denies}},
                                       {.name = "two", .question = "", .sections = {no_test}}};
  const std::vector<JudgedSentence> sentences = sentences_of(reports);
  ASSERT_EQ(sentences.size(), 2);
  EXPECT_EQ(sentences[0].claim.key, "A1");
  EXPECT_EQ(sentences[0].verdict(), ClaimVerdict::kHolds);
  EXPECT_EQ(sentences[1].judged_in.size(), 2);
  EXPECT_EQ(sentences[1].verdict(), ClaimVerdict::kDoesNotHold);
  EXPECT_EQ(&sentences[1].decided_in(), &reports[0].sections[1]);
}

void expect_results(FindingResult result, const std::vector<Finding>& findings) {
  for (size_t i = 0; i < findings.size(); ++i) EXPECT_EQ(findings[i].result, result) << i;
}

TEST(FindingTest, NumbersAgreeWithinTheirToleranceAndBounds) {
  const double nan = std::nan("");
  expect_results(FindingResult::kAgrees,
                 {exact("a", 1, 1 + 1e-13), same("a", 1e-13), near("a", 2, 2.01, 0.01),
                  at_least("a", 1, 1), between("x", 0.9, 1.1, 0.9), between("x", 0.9, 1.1, 1.1)});
  expect_results(FindingResult::kDisagrees,
                 {exact("a", 1, 1 + 1e-11), exact("a", 1, nan), same("a", -1e-3), above("a", 1, 1),
                  at_most("a", 1, nan), between("x", 0.9, 1.1, 0.8), between("x", 0.9, 1.1, 1.2)});
  EXPECT_EQ(between("x", 0.9, 1.1, 1).predicted.en, "0.9 … 1.1");
}

TEST(FindingTest, AMeanAgreesWhereAllOfIts95PercentDo) {
  const Samples samples = {0.9, 1.0, 1.1};  // mean 1, error 0.0577, and 4.303 of these: 0.248
  expect_results(FindingResult::kAgrees, {near("a", 1, samples, 0.25), above("a", 0.75, samples),
                                          below("a", 1.25, samples)});
  expect_results(FindingResult::kUndecided,
                 {near("a", 1, samples, 0.24), near("a", 1, Samples{1}, 0.5),
                  above("a", 1, samples), at_least("a", 1, Samples{1})});
  expect_results(FindingResult::kDisagrees, {near("a", 2, samples, 0.37), above("a", 1.25, samples),
                                             below("a", 0.75, samples)});
}

TEST(FindingTest, AlikeNeedsPowerNoiseIsNotEnough) {
  const Samples a = {1, 2, 3}, near_a = {1.01, 2.02, 3.01}, noise = {3, 1, 2};
  EXPECT_EQ(alike("a", a, near_a, 0.1).result, FindingResult::kAgrees);
  EXPECT_EQ(alike("a", a, noise, 0.1).result, FindingResult::kUndecided);
  EXPECT_EQ(alike("a", a, Samples{11, 12, 13}, 0.1).result, FindingResult::kDisagrees);
}

TEST(FindingTest, LargerIsDecidedByPairs) {
  const Samples low = {1, 5, 9}, high = {2, 6.1, 10};
  EXPECT_EQ(larger("a", high, low).result, FindingResult::kAgrees);
  EXPECT_EQ(larger("a", low, high).result, FindingResult::kDisagrees);
  EXPECT_EQ(larger("a", low, low).result, FindingResult::kUndecided);
  EXPECT_EQ(larger("a", Samples{1, 9}, Samples{2, 7}).result, FindingResult::kUndecided);
  EXPECT_EQ(larger("a", Samples{2}, Samples{1}).result, FindingResult::kUndecided);
  // Five differences whose mean is 2.7 of its errors from zero, then 2.8 of them: Student's t
  // is 2.776.
  EXPECT_EQ(kNotSeen.result, FindingResult::kNotSeen);
  const Samples zeros(5, 0.0);
  const auto spread = [](double mean) {
    return Samples{mean - 2, mean - 1, mean, mean + 1, mean + 2};
  };
  EXPECT_EQ(larger("a", spread(2.7 * std::sqrt(0.5)), zeros).result, FindingResult::kNotSeen);
  EXPECT_EQ(larger("a", spread(2.8 * std::sqrt(0.5)), zeros).result, FindingResult::kAgrees);
}

TEST(StatisticsTest, ConfidenceIsStudents) {
  EXPECT_TRUE(std::isinf(errors_of_95_percent(1)));
  const std::pair<size_t, double> in_tables[] = {{2, 12.706}, {3, 4.303},  {8, 2.365},
                                                 {11, 2.228}, {12, 2.201}, {1000, 1.962}};
  for (const auto& [samples, errors] : in_tables) {
    EXPECT_NEAR(errors_of_95_percent(samples), errors, 0.0005) << samples;
  }
  EXPECT_NEAR(chance_of(-3.499, 8), 0.01, 1e-5);
  EXPECT_EQ(chance_of(9, 1), 1);
}

Samples around(double mean) { return {mean - 2, mean - 1, mean, mean + 1, mean + 2}; }

TEST(FindingTest, SaysTheIntervalThatDecides) {
  const Samples zeros(5, 0.0);
  EXPECT_EQ(larger("a", around(4), zeros).interval.en, "difference 2.037 … 5.963");
  EXPECT_EQ(at_least("a", 1, around(4)).interval.en, "2.037 … 5.963");
  EXPECT_TRUE(at_least("a", 1, zeros).interval.empty());
  EXPECT_TRUE(exact("a", 1, 1).interval.empty());
  EXPECT_EQ(section_of({at_least("a", 1, around(4))}).reason().en,
            "a: predicted at least 1, measured 4 ± 1.6 (95 %: 2.037 … 5.963).");
}

// By chance they are so clear once in 500 cases, and twice once in 33. 0.03 is at most 0.05, the
// bound of the last finding, and not 0.025, that of the last but one.
TEST(FindingTest, AmongMoreFindingsOneHasToBeClearer) {
  const Samples zeros(5, 0.0);
  const Finding clear = larger("a", around(5), zeros), less = larger("b", around(2.3), zeros),
                mean = at_least("c", 1, around(3.3));
  const auto results_of = [](const std::vector<std::vector<Finding>>& sections) {
    Report report = {.name = "r", .question = ""};
    for (const auto& findings : sections) report.sections.push_back(section_of(findings));
    report.correct_for_chance();
    std::vector<FindingResult> results;
    for (const Section& section : report.sections) {
      for (const Finding& each : section.findings) results.push_back(each.result);
    }
    return results;
  };
  using Results = std::vector<FindingResult>;
  EXPECT_EQ(results_of({{less}, {clear, exact("d", 1, 1)}}),
            (Results{FindingResult::kAgrees, FindingResult::kAgrees, FindingResult::kAgrees}));
  EXPECT_EQ(results_of({{less}, {clear, mean}}),
            (Results{FindingResult::kNotSeen, FindingResult::kAgrees, FindingResult::kUndecided}));
}

TEST(StatisticsTest, DeviationAndErrorAreOfASample) {
  const Samples samples = {1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(mean_of(samples), 2.5);
  EXPECT_DOUBLE_EQ(deviation_of(samples), std::sqrt(5.0 / 3));
  EXPECT_DOUBLE_EQ(error_of_mean(samples), std::sqrt(5.0 / 12));
  EXPECT_EQ(deviation_of(Samples{7}), 0);
}

TEST(GrowthExponentTest, IsThePowerOfAPowerLaw) {
  const Samples x = {512, 1024, 2048, 8192};
  for (const double power : {0.0, 1.0, 1.7}) {
    Samples y;
    for (const double value : x) y.push_back(3 * std::pow(value, power));
    EXPECT_NEAR(growth_exponent(x, y), power, 1e-12);
  }
}

// By hand: the logarithms are 0, 1, 2 and 0, 0, 3; the slope is (1 * 1 + 1 * 2) / (1 + 1).
TEST(GrowthExponentTest, IsTheSlopeByLeastSquares) {
  const Samples x = {1, M_E, M_E * M_E}, y = {1, 1, M_E * M_E * M_E};
  EXPECT_NEAR(growth_exponent(x, y), 1.5, 1e-12);
}

TEST(AxisTest, LeavesOutWhatHasNoPlace) {
  const Axis axis({1, 100, 0, std::nan("")}, /*is_logarithmic=*/true);
  EXPECT_FALSE(axis.shows(0));
  EXPECT_FALSE(axis.shows(std::nan("")));
  EXPECT_DOUBLE_EQ(axis.place(10), 0.5);
  EXPECT_EQ(axis.ticks(), (std::vector<double>{1, 10, 100}));
}

// All numbers stand between its ends, and there are a few ticks.
void expect_sound(const Axis& axis, const std::vector<double>& numbers) {
  for (const double number : numbers) {
    if (!axis.shows(number)) continue;
    EXPECT_GE(axis.place(number), 0) << number;
    EXPECT_LE(axis.place(number), 1) << number;
  }
  EXPECT_LE(axis.ticks().size(), 12);
  for (const double tick : axis.ticks()) EXPECT_TRUE(std::isfinite(tick)) << tick;
}

TEST(AxisTest, IsSoundWhateverItIsGiven) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Samples kinds[] = {{},
                           {nan},
                           {infinity, -infinity},
                           {0},
                           {7},
                           {-1e308, 1e308},
                           {1e17, 1e17 + 16},
                           {1e-320, 1},
                           {1e-12, 2e-12},
                           {1, 1 + 1e-15}};
  for (const Samples& numbers : kinds) {
    for (const bool is_logarithmic : {false, true}) {
      expect_sound(Axis(numbers, is_logarithmic), numbers);
    }
  }
}

TEST(StatisticsTest, NumbersAreWrittenAsPeopleWriteThem) {
  EXPECT_EQ(format_number(114688), "114688");
  EXPECT_EQ(format_number(12345.6), "12346");
  EXPECT_EQ(format_number(0.31831), "0.3183");
  EXPECT_EQ(format_number(1.2e-15), "1.2e-15");
  EXPECT_EQ(format_number(3.8e7), "3.8e+07");
  EXPECT_EQ(format_number(1e7), "1.0e+07");
  EXPECT_EQ(format_number(9999999), "9999999");
  EXPECT_EQ(format_number(0.001), "0.001");
  EXPECT_EQ(format_number(0.00099), "9.9e-04");
  EXPECT_EQ(format_samples(Samples{21, 257.2}), "139.1 ± 167");
  EXPECT_EQ(format_samples(Samples{7.69, 8}), "7.845 ± 0.22");
  EXPECT_EQ(format_samples(Samples{1, 1}), "1");
  EXPECT_EQ(format_samples(Samples{1, 1 + 1e-11}), "1");  // rounding
  EXPECT_EQ(format_samples(Samples{1e-51, 0}), "0");
  EXPECT_EQ(format_number(2.5, Unit::kLoss), "2.5000");
  EXPECT_EQ(format_number(3.12e-5, Unit::kLoss), "3.1e-05");
  EXPECT_EQ(format_samples(Samples{0.9999, 0.9999}, Unit::kShare), "99.9 ± 0.0 %");
}

Report example() {
  Section section = section_of({kAgrees, beyond(kDisagrees)});
  section.claims = {{"A1", "A1", "注意<力>", "attention & \"more\""}};
  section.conditions = {{.text = "a < b"}};
  section.figures = {
      LineChart{.title = "lines",
                .series = {{"one", {1, 2}, {3, std::nan("")}, {0.5, 0.5}}},
                .levels = {{"by guessing", 0.25}}},
      HeatMap{.title = "map", .rows = 1, .columns = 2, .numbers = {-1, std::nan("")}},
      Table{.title = "table", .header = {"a", "b"}, .rows = {{"注意", "2"}}}};
  return {.name = "example", .question = "Is it so?", .sections = {section}};
}

TEST(ReportTest, JsonHasWhatTheTextSays) {
  const nlohmann::json json = nlohmann::json::parse(report_json(example(), kEnglish));
  const auto& section = json["sections"][0];
  EXPECT_EQ(section["claims"][0]["chinese"], "注意<力>");
  EXPECT_EQ(section["verdict"], "holds if");
  EXPECT_EQ(section["verdict_text"], "holds if a < b");
  EXPECT_EQ(section["findings"][1]["result"], "disagrees");
  EXPECT_EQ(section["findings"][1]["role"], "beyond the condition");
  EXPECT_EQ(section["findings"][1]["interval"], "");
  EXPECT_EQ(section["figures"][0]["series"][0]["y"][0], 3);
  EXPECT_TRUE(section["figures"][0]["series"][0]["y"][1].is_null());
  EXPECT_EQ(section["figures"][0]["levels"][0]["y"], 0.25);
}

TEST(ReportTest, JsonHasTheNumbersBehindAFinding) {
  Report report = example();
  report.sections[0].findings = {near("a", 1.5, Samples{1, 2}),
                                 larger("b", Samples{1, 2}, Samples{3, 4}), kAgrees};
  const nlohmann::json json = nlohmann::json::parse(report_json(report, kEnglish));
  const auto& findings = json["sections"][0]["findings"];
  EXPECT_EQ(findings[0]["predicted_number"], 1.5);
  EXPECT_EQ(findings[0]["samples"], nlohmann::json({{1, 2}}));
  EXPECT_TRUE(findings[1]["predicted_number"].is_null());
  EXPECT_EQ(findings[1]["samples"], nlohmann::json({{1, 2}, {3, 4}}));
  EXPECT_EQ(findings[2]["samples"], nlohmann::json::array());
}

TEST(ReportTest, TextKeepsToEightyColumns) {
  Report report = example();
  report.sections[0].prediction = std::string(30, 'a') + " " + std::string(60, 'b') + " c";
  const std::string text = report_text(report, kEnglish);
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    EXPECT_LE(text_width(text.substr(at, end - at)), 80) << text.substr(at, end - at);
    at = end + 1;
  }
  EXPECT_NE(text.find("Verdict: holds if a < b"), std::string::npos);
  EXPECT_NE(text.find("by guessing: 0.25"), std::string::npos);
}

TEST(ReportTest, AMapAsWideAsTheTextHasEachOfItsCells) {
  for (const auto& [columns, shown] : {std::pair(72, 72), std::pair(73, 37)}) {
    Report report = example();
    report.sections[0].figures = {HeatMap{.title = "map",
                                          .rows = 1,
                                          .columns = columns,
                                          .numbers = Samples(static_cast<size_t>(columns), 1)}};
    std::string row = "    ";
    for (int i = 0; i < shown; ++i) row += "█";
    EXPECT_NE(report_text(report, kEnglish).find(row + "\n"), std::string::npos) << columns;
  }
}

}  // namespace
}  // namespace qkv
