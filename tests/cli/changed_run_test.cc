// What the program makes of a run's folder that is not as it was written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "framework/io/safetensors.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

class DamagedRunTest : public CommandLineFixture {
 protected:
  DamagedRunTest() { expect_success(qkv({"train", "tiny.toml"})); }
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

std::string elsewhere_error(const std::string& file, const std::string& what) {
  return absl::StrCat("cannot write ", file, ": it is ", what,
                      ", but a run writes only what is in its own folder; remove it, or put a copy "
                      "of what it leads to in its place");
}

// Whoever hands on a run's folder may have put links into it.
TEST_F(DamagedRunTest, NothingIsWrittenThroughALink) {
  const std::vector<std::string> go_on = {
      "train", "runs/tiny",      "--resume", "--profile",
      "--set", "train.steps=60", "--set",    "train.checkpoint_interval=10"};
  for (const char* name :
       {"config.toml", "tokenizer.json", "metrics.jsonl", "samples.txt", "profile.txt",
        "trace.json", "checkpoints/best.safetensors", "checkpoints/last.safetensors",
        "checkpoints/step-000050.safetensors", "checkpoints"}) {
    const fs::path file = fs::path("runs/tiny") / name, away = folder_ / "away";
    const bool stood_there = fs::exists(folder_.path() / file);
    for (const bool dangles : {false, true}) {
      if (dangles && stood_there) continue;
      if (stood_there) {
        fs::rename(folder_ / file, away);
      } else if (!dangles) {
        write_bytes(away, "mine");
      }
      const std::string before = fs::is_regular_file(away) ? contents_of(away) : "";
      fs::create_symlink(away, folder_ / file);
      expect_error(qkv(go_on), 2, elsewhere_error(file, "a link"));
      EXPECT_EQ(fs::is_regular_file(away) ? contents_of(away) : "", before) << file;
      fs::remove(folder_ / file);
      if (stood_there) {
        fs::rename(away, folder_ / file);
      } else {
        fs::remove(away);
      }
    }
  }
  for (const char* name : {"metrics.jsonl", "samples.txt"}) {
    const fs::path file = fs::path("runs/tiny") / name;
    fs::create_hard_link(folder_ / file, folder_ / "second");
    expect_error(qkv(go_on), 2, elsewhere_error(file, "a hard link to another file"));
    fs::remove(folder_ / "second");
  }
  EXPECT_EQ(qkv(go_on).exit_status, 0) << "the folder was changed";
}

TEST_F(DamagedRunTest, NoNewRunAndNoSweepIsWrittenThroughALink) {
  fs::create_directories(folder_ / "away");
  write_bytes(folder_ / "away/notes.txt", "mine");
  fs::create_directories(folder_ / "runs/new");
  write_bytes(folder_ / "runs/new/config.toml", "");
  fs::create_symlink(folder_ / "away/fresh", folder_ / "runs/new/samples.txt");
  expect_error(qkv({"train", "tiny.toml", "--out", "runs/new"}), 2,
               elsewhere_error("runs/new/samples.txt", "a link"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "away"), {}), 1);
  fs::create_directory_symlink(folder_ / "runs", folder_ / "other-disk");  // named by the user
  expect_success(train_tiny("other-disk/fine"));
  NEEDS_VERBS("sweep");
  fs::create_directories(folder_ / "sweep");
  fs::create_symlink(folder_ / "away", folder_ / "sweep/seed=1");
  expect_error(qkv({"sweep", "tiny.toml", "--out", "sweep", "--set", "seed=1,2"}), 2,
               elsewhere_error("sweep/seed=1", "a link"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "away"), {}), 1);
}

TEST_F(DamagedRunTest, APipeOrADeviceInPlaceOfAFileIsNotWaitedFor) {
  fs::create_directory(folder_ / "runs/new");
  write_bytes(folder_ / "runs/new/config.toml", "");
  ASSERT_EQ(::mkfifo((folder_ / "runs/new/metrics.jsonl").c_str(), 0600), 0);
  expect_error(qkv({"train", "tiny.toml", "--out", "runs/new"}), 2,
               elsewhere_error("runs/new/metrics.jsonl", "a device or a pipe"));
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

  NEEDS_VERBS("info");
  const ProcessResult info = qkv({"info", "runs/tiny"});
  expect_success(info);
  EXPECT_THAT(info.output, testing::ContainsRegex("final_norm.bias +f32.16. +not finite: 1\n"));
  EXPECT_THAT(info.output, testing::ContainsRegex("final_norm.weight +f32.16.\n"));
}

// Runs of an older version: one whose config was saved with every key, also with values that
// nothing reads; one whose checkpoints do not tell of which text they are.

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
