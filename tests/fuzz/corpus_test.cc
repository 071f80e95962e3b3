// Every file of the corpus through its target: seeds, and whatever the fuzzers have found.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/fuzz/targets.h"

namespace qkv {

void PrintTo(const FuzzTarget& target, std::ostream* out) { *out << target.name; }

namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = fs::path(QKV_SOURCE_DIR) / "tests/fuzz/corpus";

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::string bytes_of(const fs::path& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

class FuzzTest : public testing::TestWithParam<FuzzTarget> {};

TEST_P(FuzzTest, EveryInputKeepsThePromises) {
  const std::vector<fs::path> files = files_of(kCorpus / GetParam().name);
  EXPECT_FALSE(files.empty());
  for (const fs::path& file : files) {
    EXPECT_NO_THROW(GetParam().run(bytes_of(file))) << file;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzTest, testing::ValuesIn(fuzz_targets()),
                         [](const auto& test) { return test.param.name; });

TEST(FuzzTest, EveryFolderIsThatOfATarget) {
  const bool has_app = fs::exists(fs::path(QKV_SOURCE_DIR) / "apps/exchange");
  EXPECT_EQ(files_of(kCorpus).size(), fuzz_targets().size() + (has_app ? 0 : 1));
}

}  // namespace
}  // namespace qkv
