// ./qkv plot: the curves of runs, as text, as files, and where something is missing.

#include <gmock/gmock.h>

#include <filesystem>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "framework/core/text/columns.h"
#include "tests/command_line_fixture.h"
#include "tests/html_check.h"

namespace qkv {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Two lines of a run, the second with an evaluation.
const std::string kTwoLines = R"({"step":10,"loss":2.25,"elapsed_seconds":0.5}
{"step":20,"loss":0.1,"elapsed_seconds":1.25,"val_loss":0.3}
)";

class PlotTest : public CommandLineFixture {
 protected:
  // Where no number of it matters, a run need not have been trained.
  void make_run(const std::string& path, const std::string& metrics) {
    std::filesystem::create_directories(folder_ / path);
    write_bytes(folder_ / (path + "/config.toml"), kConfig);
    if (!metrics.empty()) write_bytes(folder_ / (path + "/metrics.jsonl"), metrics);
  }

  std::string csv(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "plot");
    arguments.insert(arguments.end(), {"--csv", "-"});
    const ProcessResult result = qkv(arguments);
    EXPECT_EQ(result.exit_status, 0) << result.errors;
    return result.output;
  }
};

TEST_F(PlotTest, EveryPointIsInTheCsv) {
  make_run("runs/a", kTwoLines);
  make_run("runs/b, \"quoted\"", R"({"step":10,"loss":null,"elapsed_seconds":1}
)");
  EXPECT_EQ(csv({"runs"}), R"(run,metric,step,value
runs/a,loss,10,2.25
runs/a,loss,20,0.1
runs/a,val_loss,20,0.3
"runs/b, ""quoted""",loss,10,nan
)");
}

TEST_F(PlotTest, TheNumbersStandAgainstTimeAndTokens) {
  make_run("runs/a", kTwoLines);
  EXPECT_EQ(csv({"runs/a", "--metric", "val_loss", "--against", "time"}),
            "run,metric,step,seconds,value\nruns/a,val_loss,20,1.25,0.3\n");
  // A batch has 8 rows of the 3 letters, "=" and 2 letters of the answer.
  EXPECT_EQ(
      csv({"runs/a", "--metric", "val_loss", "--against", "tokens"}),
      absl::StrCat("run,metric,step,tokens,value\nruns/a,val_loss,20,", 20 * 8 * 6, ",0.3\n"));
}

TEST_F(PlotTest, InAPipeItIsTextWithoutColoursInEightyColumns) {
  make_run("runs/a", kTwoLines);
  make_run("runs/a-run-whose-name-is-so-long-that-no-terminal-has-room-for-it-and-its-numbers",
           kTwoLines);
  for (const char* const path : {"runs/a", "runs"}) {
    const ProcessResult result = qkv({"plot", path});
    expect_success(result);
    EXPECT_THAT(result.output, Not(HasSubstr("\x1b")));
    std::istringstream lines(result.output);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(text_width(line), 80) << line;
  }
  const std::string one = qkv({"plot", "runs/a"}).output;
  EXPECT_THAT(one, HasSubstr("─ training     0.1       0.1  20     2.25  10\n"));
  EXPECT_THAT(one, HasSubstr("○ validation   0.3       0.3  20      0.3  20\n"));
  EXPECT_THAT(one, HasSubstr("⠉")) << "the line, in dots";
  EXPECT_THAT(qkv({"plot", "runs"}).output, HasSubstr("numbers: validation"))
      << "the end of a name";
}

TEST_F(PlotTest, AnUnknownMetricIsToldWithThoseThatThereAre) {
  make_run("runs/a", R"({"step":10,"loss":2,"detail":{"weight_norm":{"x":1,"y":2}}}
)");
  expect_error(qkv({"plot", "runs/a", "--metric", "speed"}), 2,
               "--metric: no run has \"speed\"; there are loss and weight_norm/x (and 1 like it)");
  expect_error(qkv({"plot", "runs/a", "--metric", "los"}), 2,
               "--metric: no run has \"los\"; did you mean \"loss\"?");
  EXPECT_EQ(csv({"runs/a", "--metric", "weight_norm/y"}),
            "run,metric,step,value\nruns/a,weight_norm/y,10,2\n");
  make_run("runs/b", kTwoLines);
  EXPECT_EQ(qkv({"plot", "runs", "--metric", "weight_norm/y"}).errors,
            "note: runs/b has no weight_norm/y\n");
}

TEST_F(PlotTest, WhatIsWrongWithOneRunHidesNoOther) {
  make_run("runs/a", kTwoLines);
  make_run("runs/damaged", "{\"step\":1,\"loss\":2}\n{\"step\":\n");
  make_run("runs/empty", "");
  const ProcessResult result = qkv({"plot", "runs/a", "runs/damaged", "runs/empty", "runs/none"});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.output, HasSubstr("training"));
  EXPECT_EQ(result.errors,
            "note: runs/empty has no metrics yet\n"
            "error: runs/damaged is damaged: runs/damaged/metrics.jsonl:2: not a JSON object\n"
            "error: there is no folder runs/none\n");
  expect_error(qkv({"plot", "runs/empty"}), 2, "runs/empty has no metrics yet: nothing to draw");
}

TEST_F(PlotTest, ARunThatIsBeingWrittenAndNumbersThatAreNoneAreDrawnAsFarAsTheyGo) {
  make_run("runs/a", kTwoLines + R"({"step":30,"loss":null}
{"step":40,"lo)");
  const ProcessResult result = qkv({"plot", "runs/a"});
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_EQ(result.errors,
            "note: runs/a: plot leaves out the numbers of loss that are not finite: 1 of 3\n");
  EXPECT_THAT(result.output, HasSubstr("─ training     nan       0.1  20     2.25  10\n"));
}

TEST_F(PlotTest, ACurveWithoutANumberIsNotInTheLegend) {
  make_run("runs/a", R"({"step":20,"loss":2.25}
{"step":40,"loss":0.1,"val_loss":null}
)");
  const ProcessResult result = qkv({"plot", "runs/a"});
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_EQ(result.errors,
            "note: runs/a: plot leaves out the numbers of val_loss that are not finite: 1 of 1\n");
  EXPECT_THAT(result.output, HasSubstr("─ training   0.1       0.1  40     2.25  20\n"));
  EXPECT_THAT(result.output, Not(HasSubstr("validation")));
}

TEST_F(PlotTest, ASinglePointIsAMark) {
  make_run("runs/a", "{\"step\":1,\"loss\":2}\n");
  const ProcessResult result = qkv({"plot", "runs/a"});
  expect_success(result);
  EXPECT_THAT(result.output, HasSubstr(" ●\n"));
  EXPECT_THAT(result.output, HasSubstr("● training     2         2   1        2   1\n"));
}

TEST_F(PlotTest, OfManyPointsThePeaksAreKept) {
  std::string metrics;
  for (int step = 1; step <= 5000; ++step) {
    absl::StrAppend(&metrics, "{\"step\":", step, ",\"loss\":", step == 3333 ? 9 : 1, "}\n");
  }
  make_run("runs/a", metrics);
  const ProcessResult result = qkv({"plot", "runs/a", "--svg", "-"});
  expect_success(result);
  EXPECT_LT(result.output.size(), 40000U);
  EXPECT_THAT(result.output, HasSubstr(",20.0 ")) << "the top of the drawing";
}

TEST_F(PlotTest, FilesNeedNothingElseAndReplaceNothingElse) {
  make_run("runs/<b>&\"'", kTwoLines);
  const ProcessResult result =
      qkv({"plot", "runs/<b>&\"'", "--svg", "a.svg", "--out", "a.html", "--csv", "a.csv", "--log"});
  expect_success(result);
  EXPECT_THAT(result.output, HasSubstr("wrote a.svg\nwrote a.html\nwrote a.csv\n"));
  const std::string svg = in("a.svg"), html = in("a.html");
  EXPECT_THAT(svg, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" "));
  EXPECT_EQ(first_wrong_tag(svg), "");
  EXPECT_THAT(svg, Not(HasSubstr("var(")));
  EXPECT_THAT(svg, HasSubstr("runs/&lt;b&gt;&amp;"));
  EXPECT_EQ(
      first_wrong_tag(html.substr(html.find("<main>"), html.find("<script") - html.find("<main>"))),
      "");
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
  expect_success(qkv({"plot", "runs", "--svg", "a.svg"}));
  expect_error(qkv({"plot", "runs", "--svg", "tiny.toml"}), 2,
               "--svg: tiny.toml exists and is a file of another kind, which would be lost; choose "
               "another name");
  expect_error(qkv({"plot", "runs", "--svg", "-", "--csv", "-"}), 2,
               "--svg - and --csv - exclude each other: standard output takes one of them");
  expect_error(qkv({"plot", "runs", "--against", "tea"}), 2,
               "--against: there is no \"tea\"; there are step, time, tokens");
}

}  // namespace
}  // namespace qkv
