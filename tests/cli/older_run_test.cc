// A run whose config was saved with every key, also with values that nothing reads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "framework/io/safetensors.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

class OlderRunTest : public CommandLineFixture {
 protected:
  OlderRunTest() {
    expect_success(qkv({"train", "tiny.toml"}));
    write_bytes(folder_ / config_, with_every_key(in(config_)));
    for (const char* name : {"best", "last"}) {
      const std::string path =
          folder_ / absl::StrCat("runs/tiny/checkpoints/", name, ".safetensors");
      TensorFile file = *read_safetensors(path);
      file.metadata["config"] = with_every_key(file.metadata["config"]);
      EXPECT_TRUE(write_safetensors(path, file).ok());
    }
  }

  static std::string with_every_key(const std::string& toml) {
    return absl::StrReplaceAll(toml, {{"[data]\n", "[data]\ndigits = 5\nmodulus = 97\n"}});
  }

  const std::string config_ = "runs/tiny/config.toml";
};

TEST_F(OlderRunTest, IsEvaluatedGeneratedFromAndResumed) {
  EXPECT_THAT(in(config_), testing::HasSubstr("\ndigits = 5\n"));
  expect_success(qkv({"eval", "runs/tiny"}));
  expect_success(qkv({"eval", "runs/tiny", "--set", "data.validation_examples=5"}));
  expect_success(qkv({"generate", "runs/tiny", "--prompt", "012="}));
  expect_success(qkv({"train", "tiny.toml", "--resume"}));
}

TEST_F(OlderRunTest, ItsConfigIsToldWhatNothingReadsWhereAnotherRunIsToBeginWithIt) {
  expect_error(qkv({"train", config_, "--out", "other"}), 2,
               "runs/tiny/config.toml:5:1: \"data.digits\" is read by addition, not by reverse");
}

}  // namespace
}  // namespace qkv
