// ./qkv info: what is in a checkpoint, or in another file of tensors.

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

using testing::HasSubstr;
using testing::Not;

class InfoTest : public CommandLineFixture {
 protected:
  void SetUp() override { expect_success(train_tiny("runs/tiny", {"train.steps=4"})); }
};

TEST_F(InfoTest, ListsWhatIsInACheckpoint) {
  const ProcessResult info = qkv({"info", "runs/tiny/checkpoints/last.safetensors", "--verbose"});
  expect_success(info);
  for (const char* part : {"blocks.0.attention.query.weight", "f32[16, 16]",
                           "optimizer.second_moment.final_norm.bias", "task = \"reverse\""}) {
    EXPECT_NE(info.output.find(part), std::string::npos) << part;
  }
}

TEST_F(InfoTest, TellsTheModelFromTheOptimizer) {
  const std::string adam = qkv({"info", "runs/tiny"}).output;
  EXPECT_THAT(adam, testing::ContainsRegex("\nmodel +[0-9]+ +2432  "));
  EXPECT_THAT(adam, testing::ContainsRegex("\noptimizer: first moments +[0-9]+ +2432  "));
  EXPECT_THAT(adam, testing::ContainsRegex("\nall +60 +7296 +2[89][^\n]* KiB\n"));
  expect_success(
      train_tiny("runs/sgd", {"train.steps=4", "optimizer.kind=sgd", "optimizer.momentum=0.9"}));
  EXPECT_THAT(qkv({"info", "runs/sgd", "--verbose"}).output,
              HasSubstr("\noptimizer: velocities, sums of"));
  expect_success(qkv({"data", "tiny.toml", "--export", "batches"}));
  EXPECT_THAT(qkv({"info", "batches"}).output, HasSubstr("\ntensors:\n"));
}

TEST_F(InfoTest, IsShortUnlessAllIsAskedFor) {
  const std::string in_short = qkv({"info", "runs/tiny"}).output;
  const std::string all = qkv({"info", "runs/tiny", "--verbose"}).output;
  EXPECT_LT(std::ranges::count(in_short, '\n'), 45);
  EXPECT_THAT(in_short, testing::ContainsRegex("\nconfig +[0-9]+ lines\n"));
  EXPECT_THAT(in_short, testing::ContainsRegex("\nstep +4\n"));
  for (const char* text : {"\n[config]\nname = \"tiny\"\n",
                           "optimizer.first_moment.final_norm.bias", "\n  final_norm.bias "}) {
    EXPECT_THAT(all, HasSubstr(text));
  }
  EXPECT_THAT(in_short, Not(HasSubstr("optimizer.first_moment")));
}

}  // namespace
}  // namespace qkv
