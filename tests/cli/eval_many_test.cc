// ./qkv eval RUN RUN …: a table of several runs.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class EvalManyTest : public CommandLineFixture {
 protected:
  EvalManyTest() {
    for (const std::string seed : {"1", "2"}) {
      expect_success(
          qkv({"train", "tiny.toml", "--out", "runs/s" + seed, "--set", "seed=" + seed}));
    }
  }
};

TEST_F(EvalManyTest, EachHasALineWithWhatIsToldOfItAlone) {
  const json first = json::parse(qkv({"eval", "runs/s1", "--json", "-"}).output);
  const json second = json::parse(qkv({"eval", "runs/s2", "--json", "-"}).output);
  const ProcessResult both = qkv({"eval", "runs/s1", "runs/s2", "--json", "-"});
  expect_success(both);
  EXPECT_EQ(json::parse(both.output), (json{first, second}));
  const ProcessResult table = qkv({"eval", "runs/s1", "runs/s2"});
  expect_success(table);
  EXPECT_THAT(table.output, HasSubstr("run      task     step    loss"));
  EXPECT_THAT(table.output, HasSubstr("\nruns/s2  reverse    40  "));
}

TEST_F(EvalManyTest, WhatIsWrongWithOneHidesNoOther) {
  const ProcessResult result = qkv({"eval", "runs/none", "runs/s1", "runs/s3"});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_THAT(result.output, HasSubstr("\nruns/s1  reverse    40  "));
  EXPECT_EQ(result.errors,
            "error: runs/none: no such run or checkpoint\n"
            "error: runs/s3: no such run or checkpoint\n");
  expect_error(qkv({"eval", "runs/s1", "runs/s2", "--attention", "="}), 2,
               "--attention takes one run");
  expect_error(qkv({"eval", "runs/s1", "runs/s2", "--export", "e.safetensors"}), 2,
               "--export takes one run");
  expect_error(qkv({"eval"}), 2, "eval takes at least one run: ./qkv eval RUN…");
}

}  // namespace
}  // namespace qkv
