// A run and a text that is not the one that it began with.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "framework/io/safetensors.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

class OtherTextTest : public CommandLineFixture {
 protected:
  OtherTextTest() {
    write_text("the cat sat on the mat, and the dog sat on the log. ");
    expect_success(qkv(train_));
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

TEST_F(OtherTextTest, IsResumedWithWhereAnOlderCheckpointDoesNotTell) {
  TensorFile file = *read_safetensors(folder_ / last_);
  ASSERT_EQ(file.metadata.erase("data_fingerprint"), 1u);
  ASSERT_TRUE(write_safetensors(folder_ / last_, file).ok());
  expect_success(resume());
}

TEST_F(OtherTextTest, OfOtherCharactersIsToldByThemFromAnOlderCheckpoint) {
  TensorFile file = *read_safetensors(folder_ / last_);
  ASSERT_EQ(file.metadata.erase("data_fingerprint"), 1u);
  ASSERT_TRUE(write_safetensors(folder_ / last_, file).ok());
  write_text("the zat sat on the mat, and the dog sat on the log. ");
  expect_error(resume(), 2,
               last_ +
                   ": its vocabulary differs from that of the data: the text has changed since the "
                   "run began");
}

}  // namespace
}  // namespace qkv
