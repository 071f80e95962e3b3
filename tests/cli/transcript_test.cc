// What the built program says and writes: tests/cli/transcripts has commands for a shell, each with
// what it printed. A change that is meant changes the file: QKV_TRANSCRIPTS=FOLDER writes new ones.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/command_line_fixture.h"
#include "tests/digest.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

const char* const kFolder = QKV_SOURCE_DIR "/tests/cli/transcripts";

class TranscriptTest : public CommandLineFixture, public testing::WithParamInterface<std::string> {
 protected:
  // What the command prints, and the status where it is not 0. `digest FILE` is the test's own.
  std::string said_by(const std::string& command) {
    absl::string_view file = command;
    if (absl::ConsumePrefix(&file, "digest ")) {
      return digest_of(in(std::string(file))) + "\n";
    }
    const ProcessResult result =
        run_process({"/bin/sh", "-c", "qkv() { \"$QKV\" \"$@\"; }; " + command + " 2>&1"},
                    {.folder = folder_.path(), .environment = {"QKV=" QKV_BINARY}});
    const int status = result.exit_status;
    return result.output + (status == 0 ? "" : absl::StrCat("status ", status, "\n"));
  }
};

// The VERB of each `qkv VERB` of the commands, also where a command writes a script that calls it.
std::set<std::string> verbs_of(const std::vector<std::string>& lines) {
  std::set<std::string> verbs;
  for (const std::string& line : lines) {
    if (!absl::StartsWith(line, "$ ")) continue;
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" ;"), absl::SkipEmpty());
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "qkv") verbs.insert(words[i + 1]);
    }
  }
  return verbs;
}

std::vector<std::string> names_of_transcripts() {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(kFolder)) names.push_back(file.path().stem());
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Of, TranscriptTest, testing::ValuesIn(names_of_transcripts()),
                         [](const auto& test) { return test.param; });

TEST_P(TranscriptTest, IsWhatItWas) {
  const std::string file = absl::StrCat(GetParam(), ".txt");
  const std::vector<std::string> then =
      absl::StrSplit(absl::StripSuffix(contents_of(fs::path(kFolder) / file), "\n"), '\n');
  for (const std::string& verb : verbs_of(then)) NEEDS_VERBS(verb.c_str());
  std::string text;
  for (const std::string& line : then) {
    if (!absl::StartsWith(line, "$ ")) continue;
    absl::StrAppend(&text, line, "\n", said_by(line.substr(2)));
  }
  if (const char* to = std::getenv("QKV_TRANSCRIPTS")) write_bytes(fs::path(to) / file, text);
  const std::vector<std::string> now = absl::StrSplit(absl::StripSuffix(text, "\n"), '\n');
  ASSERT_EQ(now.size(), then.size()) << text;
  std::string command;
  for (size_t i = 0; i < now.size(); ++i) {
    if (absl::StartsWith(now[i], "$ ")) command = now[i];
    EXPECT_TRUE(is_same_line(now[i], then[i])) << command << "\n" << now[i] << "\n" << then[i];
  }
}

}  // namespace
}  // namespace qkv
