// What `--help` prints.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "framework/core/columns.h"
#include "tests/cli/command_line_fixture.h"

namespace qkv {
namespace {

class HelpTest : public CommandLineFixture {};

TEST_F(HelpTest, KeepsToEightyColumns) {
  for (const char* verb : {"", "train", "eval", "generate", "data", "gradcheck", "bench", "config",
                           "info", "explain", "lab"}) {
    const ProcessResult help = *verb == '\0' ? qkv({"--help"}) : qkv({std::string(verb), "--help"});
    expect_success(help);
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(help.output, '\n'))) {
      EXPECT_LE(text_width(line), 80) << verb << ": " << line;
    }
  }
}

}  // namespace
}  // namespace qkv
