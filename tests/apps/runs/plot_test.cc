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
    write_bytes(folder_ / (path + "/metrics.jsonl"), metrics);
  }
};

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
}

}  // namespace
}  // namespace qkv
