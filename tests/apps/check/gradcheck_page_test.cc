#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "apps/check/findings.h"
#include "apps/report/gradcheck/diagnosis.h"
#include "apps/report/gradcheck/gradcheck_documents.h"
#include "apps/report/html/html.h"
#include "framework/autograd/backward.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/planted.h"
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

}  // namespace
}  // namespace qkv
