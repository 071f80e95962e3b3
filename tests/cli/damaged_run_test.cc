// What the program makes of a run's folder that is not as it was written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "framework/io/safetensors.h"
#include "tests/cli/command_line_fixture.h"

namespace qkv {
namespace {

class DamagedRunTest : public CommandLineFixture {
 protected:
  DamagedRunTest() { expect_success(qkv({"train", "tiny.toml"})); }

  // The same bytes but for one bit of a number.
  void flip_bit(const std::string& file) {
    std::string bytes = in(file);
    bytes[bytes.size() - 1] ^= 0x40;
    write_bytes(folder_ / file, bytes);
  }

  void replace_by_link(const std::string& file, const std::string& target) {
    std::filesystem::remove(folder_ / file);
    std::filesystem::create_symlink(target, folder_ / file);
  }
};

TEST_F(DamagedRunTest, AModelThatTheFileDoesNotHoldIsSaidBeforeTheDataIsMade) {
  const std::string path = "runs/tiny/checkpoints/best.safetensors";
  TensorFile file = *read_safetensors(folder_ / path);
  std::string& config = file.metadata["config"];
  config = absl::StrReplaceAll(
      config, {{"num_layers = 1\n", "num_layers = 9\n"}, {"alphabet = 4\n", "alphabet = 5\n"}});
  EXPECT_TRUE(write_safetensors(folder_ / path, file).ok());
  expect_error(qkv({"eval", path}), 1,
               path + ": its config describes a larger model than the file holds");
}

TEST_F(DamagedRunTest, ADeviceIsNotReadForAFileOfTheRun) {
  for (const char* name : {"samples.txt", "metrics.jsonl"}) {
    const std::string file = std::string("runs/tiny/") + name;
    replace_by_link(file, "/dev/zero");
    expect_error(qkv({"train", "tiny.toml", "--resume"}), 1,
                 "cannot read " + file + ": it is not a regular file");
  }
}

TEST_F(DamagedRunTest, APipeInPlaceOfAFileIsNotWaitedFor) {
  const std::string file = "runs/new/metrics.jsonl";
  std::filesystem::create_directory(folder_ / "runs/new");
  write_bytes(folder_ / "runs/new/config.toml", "");
  ASSERT_EQ(::mkfifo((folder_ / file).c_str(), 0600), 0);
  expect_error(qkv({"train", "tiny.toml", "--out", "runs/new"}), 1,
               "cannot write " + file + ": it is not a regular file");
}

TEST_F(DamagedRunTest, AFlippedBitOfAWeightIsAnErrorOfEveryVerb) {
  const std::string best = "runs/tiny/checkpoints/best.safetensors",
                    last = "runs/tiny/checkpoints/last.safetensors";
  flip_bit(best);
  flip_bit(last);
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"eval", "runs/tiny"},
                                             {"generate", "runs/tiny", "--prompt", "0"},
                                             {"info", "runs/tiny"},
                                             {"train", "tiny.toml", "--resume"}}) {
    const ProcessResult result = qkv(command);
    EXPECT_EQ(result.exit_status, 1) << command[0];
    EXPECT_EQ(result.output, "") << command[0];
    EXPECT_THAT(result.errors,
                testing::MatchesRegex(absl::StrCat("error: ", command[0] == "train" ? last : best,
                                                   ": tensor \"[a-z0-9_.]+\" is not what was "
                                                   "written: its checksum is [0-9a-f]+, but the "
                                                   "file says [0-9a-f]+; the file is damaged\n")));
  }
}

TEST_F(DamagedRunTest, AFileOfAnotherKindIsToldFromOneThatWasCutOff) {
  for (const char* verb : {"info", "eval"}) {
    expect_error(qkv({verb, "tiny.toml"}), 1,
                 "tiny.toml: not a safetensors file: it does not begin with the length of a header "
                 "of at most 100000000 bytes");
  }
}

TEST_F(DamagedRunTest, WeightsThatAreNotFiniteAreNamed) {
  const std::string best = "runs/tiny/checkpoints/best.safetensors";
  TensorFile file = *read_safetensors(folder_ / best);
  for (NamedArray& tensor : file.tensors) {
    if (tensor.name == "final_norm.bias") tensor.array.mutable_data<float>()[3] = NAN;
  }
  ASSERT_TRUE(write_safetensors(folder_ / best, file).ok());
  const std::string message = best + ": 1 of the 16 numbers of final_norm.bias are not finite";
  expect_error(qkv({"eval", "runs/tiny"}), 1, message);
  expect_error(qkv({"generate", "runs/tiny", "--prompt", "0"}), 1, message);
  std::filesystem::remove(folder_ / "runs/tiny/checkpoints/last.safetensors");
  expect_error(qkv({"train", "tiny.toml", "--resume"}), 1, message);

  const ProcessResult info = qkv({"info", "runs/tiny"});
  expect_success(info);
  EXPECT_THAT(info.output, testing::ContainsRegex("final_norm.bias +f32.16. +not finite: 1\n"));
  EXPECT_THAT(info.output, testing::ContainsRegex("final_norm.weight +f32.16.\n"));
}

}  // namespace
}  // namespace qkv
