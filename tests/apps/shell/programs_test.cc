// qkv starts the program of an app for its verbs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

// The apps that are there, and have verbs.
std::set<std::string> apps() {
  std::set<std::string> found;
  for (const auto& app : fs::directory_iterator(fs::path(QKV_SOURCE_DIR) / "apps")) {
    if (fs::exists(app.path() / "verbs")) found.insert(app.path().filename());
  }
  return found;
}

class ProgramsTest : public CommandLineFixture {};

TEST_F(ProgramsTest, QkvNamesTheVerbsOfEach) {
  const std::string help = qkv({"--help"}).output;
  for (const std::string& app : apps()) {
    const ProcessResult of_app = run_process({absl::StrCat(QKV_BINARY, "-", app), "--help"});
    expect_success(of_app);
    std::istringstream lines(of_app.output);
    int verbs = 0;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  ")) continue;
      EXPECT_THAT(help, testing::HasSubstr(line));
      ++verbs;
    }
    const fs::path folder = fs::path(QKV_SOURCE_DIR) / "apps" / app / "verbs";
    const auto is_shown = [](const fs::directory_entry& file) {
      return !file.path().filename().string().starts_with('_');
    };
    EXPECT_EQ(verbs, std::count_if(fs::directory_iterator(folder), {}, is_shown)) << app;
  }
}

TEST_F(ProgramsTest, IsStartedFromTheFolderOfQkvWithTheSameWords) {
  fs::create_symlink(QKV_BINARY, folder_ / "link");
  const ProcessResult result = run_process({folder_ / "link", "completion", "--sed=1"});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_EQ(result.errors, "error: there is no option --sed; ./qkv completion --help lists them\n");
}

TEST_F(ProgramsTest, WhereItIsMissingASentenceSaysSo) {
  fs::copy_file(QKV_BINARY, folder_ / "qkv");
  const std::string program = folder_ / "qkv";
  const ProcessResult result = run_process({program, "man"});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_EQ(result.errors,
            absl::StrCat("error: qkv man needs the program ", program,
                         "-shell, which cannot be started: No such file or directory; build all "
                         "of qkv, or install it\n"));
  EXPECT_EQ(run_process({program, "config", folder_ / "tiny.toml"}).exit_status, 0);
}

}  // namespace
}  // namespace qkv
