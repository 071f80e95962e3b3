#include "train/folder/run_folder.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/temporary_folder.h"
#include "train/config/config.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

std::string mistake(const absl::StatusOr<RunFolder>& folder) {
  return std::string(folder.status().message());
}

TEST(RunFolderTest, IsMadeWithItsParentsAndTheConfig) {
  const TemporaryFolder folder;
  Config config;
  config.name = "x";
  const absl::StatusOr<RunFolder> run = RunFolder::create(folder / "runs/x", config);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->path(), folder / "runs/x");
  EXPECT_EQ(contents_of(run->config()), to_toml(config));
  EXPECT_TRUE(fs::is_empty(folder / "runs/x/checkpoints"));
  EXPECT_EQ(run->config(), folder / "runs/x/config.toml");
  EXPECT_EQ(run->metrics(), folder / "runs/x/metrics.jsonl");
  EXPECT_EQ(run->samples(), folder / "runs/x/samples.txt");
  EXPECT_EQ(run->last_checkpoint(), folder / "runs/x/checkpoints/last.safetensors");
  EXPECT_EQ(run->best_checkpoint(), folder / "runs/x/checkpoints/best.safetensors");
  EXPECT_EQ(run->checkpoint(100), folder / "runs/x/checkpoints/step-000100.safetensors");
  EXPECT_EQ(run->checkpoint(12345678), folder / "runs/x/checkpoints/step-12345678.safetensors");
}

TEST(RunFolderTest, AnEmptyFolderWillDo) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "x/checkpoints");  // left behind by a create() that failed
  EXPECT_TRUE(RunFolder::create(folder / "x", Config()).ok());
}

TEST(RunFolderTest, AnotherRunIsNotOverwritten) {
  const TemporaryFolder folder;
  ASSERT_TRUE(RunFolder::create(folder / "x", Config()).ok());
  write_bytes(folder / "x/checkpoints/last.safetensors", "");
  Config other;
  other.seed = 7;
  EXPECT_EQ(mistake(RunFolder::create(folder / "x", other)),
            (folder / "x") +
                " holds another run; continue it with --resume, choose another folder with --out, "
                "or remove it");
  EXPECT_EQ(contents_of(folder / "x/config.toml"), to_toml(Config()));
}

TEST(RunFolderTest, ARunWithoutACheckpointIsBegunAnew) {
  const TemporaryFolder folder;
  ASSERT_TRUE(RunFolder::create(folder / "x", Config()).ok());
  Config other;
  other.seed = 7;
  EXPECT_TRUE(RunFolder::create(folder / "x", other).ok());
  EXPECT_EQ(contents_of(folder / "x/config.toml"), to_toml(other));
}

TEST(RunFolderTest, NothingElseIsMixedWithARun) {
  const TemporaryFolder folder;
  write_bytes(folder / "thesis.tex", "years of work");
  EXPECT_EQ(
      mistake(RunFolder::create(folder.path(), Config())),
      folder.path() +
          " is not empty and holds no run (there is thesis.tex); choose another folder with --out");
  EXPECT_EQ(files_in(folder.path()), 1u);
  EXPECT_EQ(
      mistake(RunFolder::create(folder / "thesis.tex", Config())),
      (folder / "thesis.tex") + " is a file, but a run needs a folder; choose another with --out");
}

TEST(RunFolderTest, AFolderThatCannotBeMadeIsAnError) {
  const TemporaryFolder folder;
  write_bytes(folder / "file", "");
  EXPECT_EQ(mistake(RunFolder::create(folder / "file/x", Config())),
            "cannot make the folder " + (folder / "file/x") + ": Not a directory");
  // Nobody may make a folder there, not even root.
  EXPECT_EQ(mistake(RunFolder::create("/proc/qkv/x", Config())),
            "cannot make the folder /proc/qkv: No such file or directory");
}

TEST(RunFolderTest, OneProcessAtATimeTrainsIntoIt) {
  const TemporaryFolder folder;
  std::optional<RunFolder> run = *RunFolder::create(folder / "x", Config());
  write_bytes(run->last_checkpoint(), "");
  const std::string in_use = (folder / "x") + " is in use: another process trains into it";
  EXPECT_EQ(mistake(RunFolder::resume(folder / "x")), in_use);
  EXPECT_EQ(mistake(RunFolder::create(folder / "x", Config())), in_use);
  run.reset();
  EXPECT_TRUE(RunFolder::resume(folder / "x").ok());
}

TEST(RunFolderTest, ResumeNeedsARunWithACheckpoint) {
  const TemporaryFolder folder;
  EXPECT_EQ(mistake(RunFolder::resume(folder / "none")),
            (folder / "none") +
                " is not the folder of a run to continue; leave out --resume to start one");
  EXPECT_EQ(mistake(RunFolder::resume(folder.path())),
            folder.path() + " holds no run to continue; leave out --resume to start one");
  ASSERT_TRUE(RunFolder::create(folder / "x", Config()).ok());
  EXPECT_EQ(
      mistake(RunFolder::resume(folder / "x")),
      (folder / "x") + " holds no checkpoint to continue from; leave out --resume to start anew");
  write_bytes(folder / "x/checkpoints/last.safetensors", "");
  const absl::StatusOr<RunFolder> run = RunFolder::resume(folder / "x");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->config(), folder / "x/config.toml");
}

TEST(RunFolderTest, NumberedCheckpointsAloneAreARun) {
  const TemporaryFolder folder;
  const std::string checkpoints = folder / "x/checkpoints/";
  ASSERT_TRUE(RunFolder::create(folder / "x", Config()).ok());
  write_bytes(checkpoints + "step-000900.safetensors", "");
  write_bytes(checkpoints + "step-001000.safetensors", "");
  write_bytes(checkpoints + "step-1200.safetensors", "");  // no name that a run gives
  EXPECT_EQ(mistake(RunFolder::create(folder / "x", Config())),
            (folder / "x") +
                " holds another run; continue it with --resume, choose another folder with --out, "
                "or remove it");
  const absl::StatusOr<RunFolder> run = RunFolder::resume(folder / "x");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(*run->newest_checkpoint(), checkpoints + "step-001000.safetensors");
}

TEST(RunFolderTest, WhatARunThatWasKilledLeftIsRemoved) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "x/checkpoints");
  write_bytes(folder / "x/config.toml.tmp-77-0", "name");
  ASSERT_TRUE(RunFolder::create(folder / "x", Config()).ok());
  EXPECT_FALSE(fs::exists(folder / "x/config.toml.tmp-77-0"));

  write_bytes(folder / "x/checkpoints/last.safetensors", "");
  write_bytes(folder / "x/checkpoints/last.safetensors.tmp-78-1", "half");
  write_bytes(folder / "x/checkpoints/last.safetensors.tmp-mine", "a person's");
  ASSERT_TRUE(RunFolder::resume(folder / "x").ok());
  EXPECT_EQ(files_in(folder / "x/checkpoints"), 2u);
  EXPECT_TRUE(fs::exists(folder / "x/checkpoints/last.safetensors.tmp-mine"));
}

TEST(RunFolderTest, NothingIsAddedToTheMetricsOfALostRun) {
  const TemporaryFolder folder;
  ASSERT_TRUE(RunFolder::create(folder / "x", Config()).ok());
  write_bytes(folder / "x/metrics.jsonl", "");
  ASSERT_TRUE(RunFolder::create(folder / "x", Config()).ok());
  write_bytes(folder / "x/metrics.jsonl", "{\"step\":1}\n");
  EXPECT_EQ(
      mistake(RunFolder::create(folder / "x", Config())),
      (folder / "x/metrics.jsonl") +
          " belongs to another run, whose checkpoints are gone; choose another folder with --out, "
          "or remove " +
          (folder / "x"));
}

// Links in a circle: what a folder without permissions is to everyone but root.
TEST(RunFolderTest, WhatCannotBeSeenIsNotTakenForNothing) {
  const TemporaryFolder folder;
  ASSERT_TRUE(RunFolder::create(folder / "x", Config()).ok());
  const std::string checkpoint = folder / "x/checkpoints/last.safetensors";
  fs::create_symlink(checkpoint, checkpoint);
  EXPECT_EQ(find_checkpoint(folder / "x").status().message(),
            "cannot read " + checkpoint + ": Too many levels of symbolic links");

  const std::string config = folder / "x/config.toml";
  fs::remove(config);
  fs::create_symlink(config, config);
  EXPECT_EQ(mistake(RunFolder::resume(folder / "x")),
            "cannot read " + config + ": Too many levels of symbolic links");
}

TEST(RunFolderTest, IsFollowedWhereItIsMoved) {
  const TemporaryFolder folder;
  absl::StatusOr<RunFolder> run = RunFolder::create(folder / "x", Config());
  ASSERT_TRUE(run.ok());
  EXPECT_FALSE(*run->follow());
  fs::rename(folder / "x", folder / "y");
  EXPECT_TRUE(*run->follow());
  EXPECT_EQ(run->config(), fs::canonical(folder / "y/config.toml"));
  EXPECT_FALSE(*run->follow());
  const std::string place = run->path();
  fs::remove_all(place);
  EXPECT_EQ(run->follow().status().message(),
            place + " was removed while the run trained into it; nothing is left");
}

TEST(FindCheckpointTest, TakesTheBestThenTheLast) {
  const TemporaryFolder folder;
  const std::string run = folder / "x";
  ASSERT_TRUE(RunFolder::create(run, Config()).ok());
  EXPECT_EQ(find_checkpoint(run).status().message(), run + " holds no checkpoint yet");
  write_bytes(run + "/checkpoints/last.safetensors", "");
  EXPECT_EQ(*find_checkpoint(run), run + "/checkpoints/last.safetensors");
  EXPECT_EQ(*find_checkpoint(run + "/"), run + "/checkpoints/last.safetensors");
  write_bytes(run + "/checkpoints/best.safetensors", "");
  EXPECT_EQ(*find_checkpoint(run), run + "/checkpoints/best.safetensors");
}

TEST(FindCheckpointTest, AFileStandsForItself) {
  const TemporaryFolder folder;
  write_bytes(folder / "some.safetensors", "");
  EXPECT_EQ(*find_checkpoint(folder / "some.safetensors"), folder / "some.safetensors");
}

TEST(FindCheckpointTest, WhatIsNoRunIsAnError) {
  const TemporaryFolder folder;
  EXPECT_EQ(find_checkpoint(folder.path()).status().message(), folder.path() + " holds no run");
  EXPECT_EQ(find_checkpoint(folder / "none").status().message(),
            (folder / "none") + ": no such run or checkpoint");
}

TEST(FindCheckpointTest, WhatCannotBeLookedAtIsNotMissing) {
  const TemporaryFolder folder;
  const auto expect_loop = [](const std::string& run, const std::string& loop) {
    fs::create_symlink(fs::path(loop).filename(), loop);
    EXPECT_EQ(find_checkpoint(run).status().message(),
              "cannot read " + loop + ": Too many levels of symbolic links");
  };
  expect_loop(folder / "loop", folder / "loop");
  const std::string run = folder / "x";
  ASSERT_TRUE(RunFolder::create(run, Config()).ok());
  write_bytes(run + "/checkpoints/last.safetensors", "");
  expect_loop(run, run + "/checkpoints/best.safetensors");
}

TEST(FindCheckpointTest, ANameAloneIsSentToRuns) {
  const TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  fs::create_directories("runs/reverse");
  const absl::StatusOr<std::string> found = find_checkpoint("reverse");
  fs::current_path(before);
  EXPECT_EQ(found.status().message(),
            "reverse: no such run or checkpoint; did you mean runs/reverse?");
}

}  // namespace
}  // namespace qkv
