// ./qkv plot: its files. What it says stands in tests/cli/transcripts.

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/command_line_fixture.h"
#include "tests/html_check.h"

namespace qkv {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class PlotTest : public CommandLineFixture {};

TEST_F(PlotTest, FilesNeedNothingElseAndReplaceNothingElse) {
  const std::filesystem::path run = folder_ / "runs/<b>&\"'";
  std::filesystem::create_directories(run);
  write_bytes(run / "config.toml", kConfig);
  write_bytes(run / "metrics.jsonl", "{\"step\":10,\"loss\":2.25}\n{\"step\":20,\"loss\":0.1}\n");
  const ProcessResult result =
      qkv({"plot", "runs/<b>&\"'", "--svg", "a.svg", "--out", "a.html", "--csv", "a.csv", "--log"});
  expect_success(result);
  EXPECT_THAT(result.output, HasSubstr("wrote a.svg\nwrote a.html\nwrote a.csv\n"));
  const std::string svg = in("a.svg"), html = in("a.html");
  EXPECT_THAT(svg, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" "));
  EXPECT_EQ(first_wrong_tag(svg), "");
  EXPECT_THAT(svg, Not(HasSubstr("var(")));
  EXPECT_THAT(svg, HasSubstr("runs/&lt;b&gt;&amp;"));
  EXPECT_EQ(first_wrong_tag(main_of(html)), "");
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
  expect_success(qkv({"plot", "runs", "--svg", "a.svg"}));
}

}  // namespace
}  // namespace qkv
