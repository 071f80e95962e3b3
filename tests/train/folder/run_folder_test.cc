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

}  // namespace
}  // namespace qkv
