// A stop in the reading of a large text.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

using testing::HasSubstr;

using TextFilesRunTest = CommandLineFixture;

// Whether the program has a file open in whose path that stands, with at least so many bytes.
bool has_open(pid_t program, const std::string& part, uintmax_t bytes) {
  std::error_code ignored;
  for (std::filesystem::directory_iterator i(absl::StrCat("/proc/", program, "/fd"), ignored), end;
       !ignored && i != end; i.increment(ignored)) {
    const std::string path = std::filesystem::read_symlink(i->path(), ignored);
    struct stat status;
    if (path.find(part) != std::string::npos && ::stat(i->path().c_str(), &status) == 0 &&
        static_cast<uintmax_t>(status.st_size) >= bytes) {
      return true;
    }
  }
  return false;
}

TEST_F(TextFilesRunTest, CtrlCInTheReadingOfALargeTextLeavesNothing) {
  write_bytes(folder_ / "large.txt", "");
  std::filesystem::resize_file(folder_ / "large.txt", 256 << 20);  // it takes no room on the disk
  const std::string train = absl::StrCat(
      "echo begins; XDG_CACHE_HOME=", folder_ / "cache exec " QKV_BINARY,
      " train tiny.toml --set data.task=text --set data.alphabet=10 --set data.path=large.txt "
      "--out run");
  // In the first pass over the text, and while its tokens are written.
  using FileOfAtLeast = std::pair<std::string, uintmax_t>;
  for (const FileOfAtLeast& file : {FileOfAtLeast("large.txt", 1), {"cache/qkv/", 1 << 20}}) {
    ProcessOptions options;
    options.folder = folder_.path();
    bool seen = false;
    options.on_output = [&](pid_t program, const std::string& /*output*/) {
      while (!(seen = has_open(program, file.first, file.second)) && ::kill(program, 0) == 0 &&
             std::filesystem::exists(absl::StrCat("/proc/", program, "/exe"))) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      ::kill(program, SIGINT);
      return true;
    };
    const ProcessResult stopped = run_process({"/bin/sh", "-c", train}, options);
    EXPECT_TRUE(seen) << file.first;
    EXPECT_EQ(stopped.exit_status, 130) << stopped.output << stopped.errors;
    EXPECT_EQ(stopped.output,
              "begins\nthe reading of large.txt was stopped; nothing was written\n");
    EXPECT_THAT(stopped.errors, testing::Not(HasSubstr("error")));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "cache/qkv"));
  }
}

}  // namespace
}  // namespace qkv
