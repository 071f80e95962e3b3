#include "apps/check/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>
#include <string>

namespace qkv {
namespace {

using testing::HasSubstr;

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

}  // namespace
}  // namespace qkv
