// What the program makes of a run's folder that is not as it was written.

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/train/command_line_fixture.h"

namespace qkv {
namespace {

class DamagedRunTest : public CommandLineFixture {
 protected:
  DamagedRunTest() { expect_success(qkv({"train", "tiny.toml"})); }

  void replace_by_link(const std::string& file, const std::string& target) {
    std::filesystem::remove(folder_ / file);
    std::filesystem::create_symlink(target, folder_ / file);
  }
};

TEST_F(DamagedRunTest, ADeviceIsNotReadForAFileOfTheRun) {
  for (const char* name : {"samples.txt", "metrics.jsonl"}) {
    const std::string file = std::string("runs/tiny/") + name;
    replace_by_link(file, "/dev/zero");
    expect_error(qkv({"train", "tiny.toml", "--resume"}), 1,
                 "cannot read " + file + ": it is no regular file");
  }
}

}  // namespace
}  // namespace qkv
