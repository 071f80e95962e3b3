#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <sstream>
#include <string>

#include "apps/check/findings.h"
#include "apps/check/step_sweep.h"
#include "apps/report/gradcheck/diagnosis.h"
#include "apps/report/gradcheck/gradcheck_documents.h"
#include "apps/report/html/html.h"
#include "framework/autograd/backward.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/functions.h"
#include "tests/framework/testing.h"
#include "tests/html_check.h"

namespace qkv {
namespace {

using testing::HasSubstr;
using testing::Not;

const Tensor kX = constant({2, 3}, {0.5, -1.0, 2.0, 1.5, -0.3, 0.7}, DType::f64);

GradcheckReport check_of_square(double factor) {
  return check_planted([](auto x) { return x[0] * x[0]; },
                       [factor](const Tensor& x, const Tensor& dy) { return factor * x * dy; }, kX,
                       {.names = {"x"}, .diagnose = diagnose});
}

// A function with one example; its backward computes factor * x.
void add_square(GradcheckFindings& findings, const std::string& name, double factor) {
  CheckedFunction& function = findings.function("op", name);
  const GradcheckReport report = check_of_square(factor);
  function.row.add(report);
  function.examples.push_back({.name = "rows of 3", .report = report});
  function.curve = {.example = "rows of 3",
                    .points = step_sweep([](auto x) { return x[0] * x[0]; }, {&kX, 1})};
}

std::string page_of(const GradcheckFindings& findings) {
  return gradcheck_page(findings, Language::kEnglish);
}

void expect_whole(const std::string& page) {
  EXPECT_EQ(first_wrong_tag(main_of(page)), "");
  EXPECT_EQ(outside_reference(main_of(page)), "");
}

TEST(GradcheckPageTest, HasTheNumbersOfWhatPassed) {
  GradcheckFindings findings;
  add_square(findings, "square", 2.0);
  findings.seed = 7;
  const std::string page = page_of(findings);
  expect_whole(page);
  EXPECT_THAT(page, HasSubstr("PASS: every derivative agrees. Derivatives: 36; examples: 1;"));
  EXPECT_THAT(page, HasSubstr("order 1, seed 7, 0.0 s"));
  EXPECT_THAT(page, Not(HasSubstr("What did not pass")));
  const GradcheckRow& row = findings.functions[0].row;
  EXPECT_THAT(page, HasSubstr("<td>36</td><td>" + size_text(row.disagreement) + "</td><td>" +
                              size_text(row.resolved_to) + "</td><td>" + digits_text(row.digits) +
                              "</td></tr>"));
  const CheckedExample& example = findings.functions[0].examples[0];
  EXPECT_THAT(page, HasSubstr(element("pre", example.report.to_text())));
  EXPECT_THAT(page, HasSubstr("No mistakes were planted in this run"));
}

TEST(GradcheckPageTest, WhatDidNotPassStandsFirstAndOpen) {
  GradcheckFindings findings;
  add_square(findings, "square", 2.0);
  add_square(findings, "wrong square", 4.0);
  const std::string page = page_of(findings);
  expect_whole(page);
  EXPECT_THAT(page, HasSubstr("Not passed: 1 of 2 functions."));
  const size_t first = page.find("op wrong square, rows of 3, seed 1");
  ASSERT_NE(first, std::string::npos);
  EXPECT_LT(first, page.find("<details"));
  const std::string above = page.substr(0, page.find("How to read this page"));
  EXPECT_THAT(above, HasSubstr("diagnosis: analytic"));
  const CheckedExample& wrong = findings.functions[1].examples[0];
  EXPECT_THAT(above, HasSubstr(element("pre", wrong.report.to_text())));
  EXPECT_THAT(wrong.report.to_text(), HasSubstr("6 wrong"));
}

TEST(GradcheckPageTest, DrawsTheCurve) {
  GradcheckFindings findings;
  add_square(findings, "square", 2.0);
  const std::string page = page_of(findings);
  for (const char* text : {"Error of the numeric derivative against its step: rows of 3",
                           "one-sided", "extrapolated"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
  findings.functions[0].curve = {.example = "rows of 3", .why_none = "there is no <slope>"};
  EXPECT_THAT(page_of(findings), HasSubstr("No V curve: there is no &lt;slope&gt;"));
}

TEST(GradcheckPageTest, TextsAreNoMarkup) {
  const std::string hostile = "</details><script>\"&'\x1b";
  GradcheckFindings findings;
  add_square(findings, hostile, 4.0);
  CheckedExample& example = findings.functions[0].examples[0];
  example.name = hostile;
  example.report.wrong_op = hostile;
  example.report.inputs[0].name = hostile;
  example.report.inputs[0].note = hostile;
  example.report.inputs[0].worst[0].note = hostile;
  findings.mutations = MutationReport{
      .results = {{.mutant = {.function = hostile, .op = hostile, .where = hostile, .change = ""},
                   .killed = true,
                   .example = hostile,
                   .how = hostile},
                  {.mutant = {.function = hostile, .op = hostile, .where = hostile, .change = ""}}},
      .not_runnable = 0};
  const std::string page = page_of(findings);
  expect_whole(page);
  EXPECT_THAT(page, Not(HasSubstr("</details><script")));
  EXPECT_THAT(page, HasSubstr("&lt;/details&gt;&lt;script&gt;&quot;&amp;"));
}

TEST(GradcheckPageTest, ShowsWhatCaughtEachMistakeAndWhatWasNotCaught) {
  const auto mutant = [](MistakeKind kind, const char* where) {
    return Mutant{
        .function = "exp", .op = "exp", .kind = kind, .where = where, .change = "is negated"};
  };
  GradcheckFindings findings;
  findings.mutations =
      MutationReport{.results = {{.mutant = mutant(MistakeKind::kSign, "caught"),
                                  .killed = true,
                                  .example = "one shape",
                                  .how = "order 1: FAIL"},
                                 {.mutant = mutant(MistakeKind::kSign, "missed")},
                                 {.mutant = mutant(MistakeKind::kStale, "harmless"),
                                  .equivalent_because = "it is squared"}},
                     .not_runnable = 0};
  const std::string page = page_of(findings);
  expect_whole(page);
  EXPECT_THAT(page, HasSubstr("Of 2 planted mistakes that change a derivative, 1 were caught."));
  EXPECT_THAT(page, HasSubstr("equivalent: exp: harmless is negated: it is squared"));
  EXPECT_THAT(page, HasSubstr("<td>sign</td><td>one shape</td><td>order 1: FAIL</td>"));
  EXPECT_LT(page.find("exp: missed is negated"), page.find("How to read this page"));
}

GradcheckReport report_of(double disagreement, double resolved_to, double digits) {
  GradcheckReport report;
  report.derivatives = 6;
  report.formulas = {{.disagreement = disagreement, .resolved_to = resolved_to}};
  report.inputs.resize(1);
  report.inputs[0].digits = digits;
  return report;
}

TEST(GradcheckTableTest, ARowHasTheWorstOfItsExamples) {
  GradcheckRow row = {.kind = "op", .name = "exp"};
  row.add(report_of(2e-22, 4e-20, 15.7));
  row.add(report_of(3e-22, 1e-20, 13.9));
  row.add(report_of(1e-22, 2e-20, 0.0));  // nothing to compare
  EXPECT_EQ(row.to_text(),
            "op    exp                      3          18     3e-22    4e-20     13 PASS\n");
}

TEST(GradcheckTableTest, OneThatFailsIsEnough) {
  GradcheckRow row;
  GradcheckReport wrong = report_of(1e-22, 1e-20, 15.0);
  wrong.inputs[0].verdict = Verdict::kFail;
  for (const GradcheckReport& report : {wrong, report_of(1e-22, 1e-20, 15.0)}) row.add(report);
  EXPECT_THAT(row.to_text(), HasSubstr("15 FAIL"));
}

TEST(PrecisionTableTest, ARowHasTheWorstOfItsExamples) {
  const ResultPrecision right = {.compared = 3, .digits = 6.7},
                        wrong = {.compared = 4, .verdict = Verdict::kFail, .digits = 2.3};
  PrecisionRow row = {.kind = "op", .name = "exp"};
  for (const ResultPrecision& result : {right, wrong, right}) {
    row.add({.results = {result}, .kinks = 1});
  }
  EXPECT_EQ(row.to_text(), "op    exp                         10      3     2.3        0  no\n");
}

TEST(GradcheckTableTest, WhatIsNoNumberIsTheWorst) {
  GradcheckRow row;
  row.add(report_of(std::numeric_limits<double>::quiet_NaN(), 1e-20, 15.0));
  row.add(report_of(1e-22, 1e-20, 15.0));
  EXPECT_THAT(row.to_text(), HasSubstr(" inf "));
}

TEST(GradcheckTableTest, FitsATerminal) {
  GradcheckRow row = {.kind = "layer", .name = "MultiHeadAttention"};
  row.examples = 12345678, row.derivatives = 12345678901;
  row.verdict = Verdict::kUndecided;
  row.disagreement = 3e-22, row.resolved_to = 1e-20;
  std::istringstream lines(gradcheck_table_head() + row.to_text());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

const TensorFunction kSmooth = [](std::span<const Tensor> x) { return sigmoid(x[0]) * exp(x[0]); };

std::vector<SweepPoint> sweep(const TensorFunction& f) {
  const Tensor x = leaf({5}, {0.3, -0.5, 1.0, 0.1, -0.2});
  return step_sweep(f, {&x, 1});
}

const SweepPoint& at(const std::vector<SweepPoint>& points, double step) {
  return *std::ranges::min_element(
      points, {}, [&](const SweepPoint& p) { return std::abs(std::log(p.step / step)); });
}

TEST(StepSweepTest, TheErrorFallsAsThePowerOfItsFormula) {
  const std::vector<SweepPoint> points = sweep(kSmooth);
  const SweepPoint &large = at(points, 1e-2), &small = at(points, 1e-3);
  EXPECT_NEAR(large.forward_error / small.forward_error, 10.0, 1.0);
  EXPECT_NEAR(large.central_error / small.central_error, 100.0, 10.0);
  EXPECT_LT(large.extrapolated_error, 1e-11);
}

TEST(StepSweepTest, TheErrorRisesAgainByRounding) {
  const std::vector<SweepPoint> points = sweep(kSmooth);
  EXPECT_LT(at(points, 1e-5).central_error, 1e-8);
  EXPECT_GT(at(points, 1e-14).central_error, 1e-5);
  EXPECT_LT(at(points, 1e-8).forward_error, at(points, 1e-14).forward_error);
}

TEST(StepSweepTest, AWrongDerivativeHasNoV) {
  const auto wrong = [](std::span<const Tensor> x) {
    return sigmoid(x[0]) * exp(x[0].detached());  // forgets a term
  };
  const std::vector<SweepPoint> points = sweep(wrong);
  EXPECT_TRUE(
      std::ranges::all_of(points, [](const SweepPoint& p) { return p.extrapolated_error > 1e-2; }));
}

TEST(StepSweepTest, TheTableAndTheChartShowEveryStep) {
  const std::vector<SweepPoint> points = sweep(kSmooth);
  ASSERT_EQ(points.size(), 61u);
  EXPECT_EQ(points.front().step, 1.0);
  EXPECT_NEAR(points.back().step, 1e-15, 1e-20);
  const std::string csv = sweep_csv(points);
  EXPECT_EQ(std::ranges::count(csv, '\n'), 62);
  EXPECT_THAT(csv, HasSubstr("step,forward_error,central_error,extrapolated_error\n1.000000e+00,"));
  const LineChart chart = sweep_chart(points, "rows");
  ASSERT_EQ(chart.series.size(), 3u);
  EXPECT_EQ(chart.series[2].name.en, "extrapolated");
  EXPECT_EQ(chart.series[2].x[60], points[60].step);
  EXPECT_EQ(chart.series[2].y[60], points[60].extrapolated_error);
}

TEST(StepSweepTest, Misuse) {
  const Tensor narrow = zeros({2}), flat = zeros({2}, DType::f64);
  expect_error("step_sweep: needs f64: f32[2] rounds too coarsely for a sweep of step sizes", [&] {
    step_sweep(kSmooth, {&narrow, 1});
  });
  expect_error("step_sweep: the function has no slope here: backward gives 0 in every direction",
               [&] {
                 step_sweep([](auto x) { return x[0] * 0.0; }, {&flat, 1});
               });
  expect_error("step_sweep: no input is f64, so there is nothing to check",
               [&] { step_sweep(kSmooth, {}); });
}

}  // namespace
}  // namespace qkv
