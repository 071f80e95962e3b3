// qkv starts the program qkv-lessons for some verbs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "cli/lesson_titles.h"
#include "tests/cli/command_line_fixture.h"

namespace qkv {
namespace {

class LessonsProgramTest : public CommandLineFixture {};

TEST_F(LessonsProgramTest, ItsVerbsAreThoseThatQkvNames) {
  const std::string help = qkv({"--help"}).output;
  const ProcessResult lessons = run_process({absl::StrCat(QKV_BINARY, "-lessons"), "--help"});
  expect_success(lessons);
  std::istringstream lines(lessons.output);
  int verbs = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ")) continue;
    EXPECT_THAT(help, testing::HasSubstr(line));
    ++verbs;
  }
  EXPECT_EQ(verbs, std::ssize(kLessonTitles));
}

TEST_F(LessonsProgramTest, ItIsStartedFromTheFolderOfQkvWithTheSameWords) {
  std::filesystem::create_symlink(QKV_BINARY, folder_ / "link");
  const ProcessResult result =
      run_process({folder_ / "link", "gradcheck", "--op", "add", "--sed=1"});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_EQ(
      result.errors,
      "error: there is no option --sed; did you mean \"--seed\"? ./qkv gradcheck --help lists "
      "them\n");
  expect_error(qkv({"explain", "--maxsize=3"}), 2,
               "there is no option --maxsize; did you mean \"--max-size\"? ./qkv explain --help "
               "lists them");
}

TEST_F(LessonsProgramTest, WhereItIsMissingASentenceSaysSo) {
  std::filesystem::copy_file(QKV_BINARY, folder_ / "qkv");
  const std::string program = folder_ / "qkv";
  const ProcessResult result = run_process({program, "gradcheck"});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_EQ(result.errors,
            absl::StrCat("error: qkv gradcheck needs the program ", program,
                         "-lessons, which cannot be started: No such file or directory; build all "
                         "of qkv, or install it\n"));
  EXPECT_EQ(run_process({program, "config", folder_ / "tiny.toml"}).exit_status, 0);
}

}  // namespace
}  // namespace qkv
