// ./qkv lab: the list, one of them, all of them, and what it refuses.

#include <nlohmann/json.hpp>

#include "tests/cli/command_line_fixture.h"

namespace qkv {
namespace {

using nlohmann::json;

class LabVerbTest : public CommandLineFixture {};

TEST_F(LabVerbTest, AloneItListsThem) {
  const ProcessResult result = qkv({"lab"});
  expect_success(result);
  EXPECT_NE(result.output.find("scaling"), std::string::npos);
}

TEST_F(LabVerbTest, OnePrintsItsVerdictAndWritesAPageAndJson) {
  const ProcessResult result = qkv({"lab", "scaling", "--d", "4,16", "--seeds=3", "--html",
                                    "page.html", "--json", "report.json"});
  expect_success(result);
  EXPECT_NE(result.output.find("Verdict: holds if the mean"), std::string::npos);
  EXPECT_EQ(in("page.html").find("<!doctype html>"), 0u);
  EXPECT_EQ(json::parse(in("report.json"))["options"]["d"], "4,16");
}

TEST_F(LabVerbTest, AControlSaysThatItIsOne) {
  const ProcessResult result = qkv({"lab", "scaling", "--control", "--d", "1,256"});
  expect_success(result);
  EXPECT_NE(result.output.find("CONTROL: "), std::string::npos);
  EXPECT_NE(result.output.find("Verdict: does not hold"), std::string::npos);
}

TEST_F(LabVerbTest, WhatIsWrittenWrongIsSaid) {
  EXPECT_EQ(qkv({"lab", "scalng"}).errors,
            "error: there is no lab \"scalng\"; did you mean \"scaling\"?\n");
  EXPECT_EQ(qkv({"lab", "scaling", "--steps", "3"}).errors,
            "error: the lab scaling does not take --steps; it takes --d, --n, --seeds\n");
  EXPECT_EQ(qkv({"lab", "scaling", "--d=x"}).errors,
            "error: --d: expected positive numbers with commas between, found \"x\"\n");
  EXPECT_EQ(qkv({"lab", "scaling", "--out", "lab"}).errors,
            "error: --out goes with --all; --html FILE\n");
  EXPECT_EQ(qkv({"lab", "scaling", "--all"}).errors, "error: --all runs every lab: name none\n");
  EXPECT_EQ(qkv({"lab", "scaling", "--html", "none/page.html"}).exit_status, 2);
}

}  // namespace
}  // namespace qkv
