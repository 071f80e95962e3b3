// Runs of an older version: one whose config was saved with every key, also with values that
// nothing reads; one whose checkpoints do not tell of which text they are.

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

class OtherTextTest : public CommandLineFixture {
 protected:
  OtherTextTest() {
    write_text("the cat sat on the mat, and the dog sat on the log. ");
    expect_success(qkv(train_));
    TensorFile file = *read_safetensors(folder_ / last_);
    EXPECT_EQ(file.metadata.erase("data_fingerprint"), 1u);
    EXPECT_TRUE(write_safetensors(folder_ / last_, file).ok());
    // The same characters, so that the vocabulary does not tell.
    write_text("the mat sat on the cat, and the log sat on the dog. ");
  }

  void write_text(const std::string& sentence) {
    std::string text;
    for (int i = 0; i < 20; ++i) text += sentence;
    write_bytes(folder_ / "text.txt", text);
  }
  ProcessResult resume() {
    std::vector<std::string> command = train_;
    command.emplace_back("--resume");
    return qkv(command);
  }

  const std::vector<std::string> train_ = {
      "train", "tiny.toml",          "--set", "data.task=text",
      "--set", "data.path=text.txt", "--set", "data.alphabet=10"};
  const std::string last_ = "runs/tiny/checkpoints/last.safetensors";
};

TEST_F(OtherTextTest, IsResumedWithWhereAnOlderCheckpointDoesNotTell) { expect_success(resume()); }

TEST_F(OtherTextTest, OfOtherCharactersIsToldByThemFromAnOlderCheckpoint) {
  write_text("the zat sat on the mat, and the dog sat on the log. ");
  expect_error(resume(), 2,
               last_ +
                   ": its vocabulary differs from that of the data: the text has changed since the "
                   "run began");
}

}  // namespace
}  // namespace qkv
