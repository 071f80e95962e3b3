// `qkv completion SHELL` and `qkv man`, as the shells and man read them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;
using Words = std::vector<std::string>;

Words lines_of(const std::string& text) { return absl::StrSplit(text, '\n', absl::SkipEmpty()); }

class CompletionTest : public CommandLineFixture {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "runs/small/checkpoints");
    write_bytes(folder_ / "runs/small/config.toml", kConfig);
    fs::create_directories(folder_ / "other");
    write_bytes(folder_ / "notes.txt", "");
    fs::create_symlink(QKV_BINARY, folder_ / "qkv");  // which the scripts ask
  }

  // A script of that shell; the test is skipped where there is none.
  ProcessResult in_shell(const std::string& shell, const Words& options,
                         const std::string& script) {
    const ProcessResult made = qkv({"completion", shell});
    expect_success(made);
    write_bytes(folder_ / ("completion." + shell), made.output);
    Words command = {"/usr/bin/env", "PATH=.:/usr/bin:/bin", shell};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"-c", script});
    return run_process(command, {.folder = folder_.path()});
  }

  static bool is_there(const std::string& program) {
    return run_process({"/usr/bin/env", "sh", "-c", "command -v " + program}).exit_status == 0;
  }

  // What bash offers for the last of these words; "=" is a word, as it is to bash.
  Words bash(const Words& words) {
    std::string quoted;
    for (const std::string& word : words) absl::StrAppend(&quoted, " '", word, "'");
    const ProcessResult result =
        in_shell("bash", {"--norc"},
                 absl::StrCat("set -u; source completion.bash; COMP_WORDS=(", quoted,
                              "); COMP_CWORD=", words.size() - 1,
                              "; COMP_WORDBREAKS=$' \\t\\n\"\\'><=;|&(:'; ",
                              "_qkv; printf '%s\\n' \"${COMPREPLY[@]}\""));
    EXPECT_EQ(result.errors, "");
    return lines_of(result.output);
  }

  Words fish(const std::string& line) {
    const ProcessResult result = in_shell(
        "fish", {"--no-config"},
        absl::StrCat("source completion.fish; complete -C '", line, "' | string split -f1 \\t"));
    return lines_of(result.output);
  }
};

TEST_F(CompletionTest, BashKnowsTheVerbsOfBothProgramsAndTheirOptions) {
  EXPECT_THAT(bash({"qkv", "tr"}), ElementsAre("train"));
  const Words verbs = bash({"./qkv", ""});
  for (const std::string& line : lines_of(qkv({"--help"}).output)) {
    if (!line.starts_with("  ")) continue;
    const Words words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    EXPECT_THAT(verbs, Contains(words.front()));
  }
  EXPECT_THAT(bash({"qkv", "gradcheck", "--mu"}), ElementsAre("--mutate"));
  EXPECT_THAT(bash({"qkv", "train", "tiny.toml", "--re"}), ElementsAre("--resume"));
}

TEST_F(CompletionTest, BashOffersConfigsRunsAndFiles) {
  EXPECT_THAT(bash({"qkv", "train", "t"}), ElementsAre("tiny.toml"));
  EXPECT_THAT(bash({"qkv", "config", ""}), Not(Contains("notes.txt")));
  EXPECT_THAT(bash({"qkv", "eval", ""}), ElementsAre("runs/small"));
  EXPECT_THAT(bash({"qkv", "train", "tiny.toml", "--from", "runs/s"}), ElementsAre("runs/small"));
  EXPECT_THAT(bash({"qkv", "runs", "o"}), ElementsAre("other"));
  EXPECT_THAT(bash({"qkv", "eval", "runs/small", "--json", "n"}), ElementsAre("notes.txt"));
  EXPECT_THAT(bash({"qkv", "generate", "runs/small", "--prompt", ""}), ElementsAre());
}

TEST_F(CompletionTest, BashOffersKeysAndTheirValues) {
  EXPECT_THAT(bash({"qkv", "train", "c", "--set", "model.d_m"}), ElementsAre("model.d_model="));
  EXPECT_THAT(bash({"qkv", "train", "c", "--set", "model.position", "=", "ro"}),
              ElementsAre("rotary"));
  EXPECT_THAT(bash({"qkv", "train", "c", "--set", "=", "model.position", "=", "ro"}),
              ElementsAre("rotary"));
  EXPECT_THAT(bash({"qkv", "eval", "r", "--split", ""}), ElementsAre("val", "train"));
  EXPECT_THAT(bash({"qkv", "eval", "r", "--split", "=", "t"}), ElementsAre("train"));
  EXPECT_THAT(bash({"qkv", "lab", "scal"}), UnorderedElementsAre("scaling", "scaling-train"));
  EXPECT_THAT(bash({"qkv", "gradcheck", "--op", "softm"}), ElementsAre("softmax"));
}

TEST_F(CompletionTest, FishOffersTheSame) {
  if (!is_there("fish")) GTEST_SKIP() << "there is no fish";
  EXPECT_THAT(fish("qkv tra"), ElementsAre("train"));
  EXPECT_THAT(fish("qkv train --res"), ElementsAre("--resume"));
  EXPECT_THAT(fish("qkv train tiny.toml --set model.d_m"), ElementsAre("model.d_model="));
  EXPECT_THAT(fish("qkv train tiny.toml --set model.position=ro"),
              ElementsAre("model.position=rotary"));
  EXPECT_THAT(fish("qkv eval runs/sm"), Contains("runs/small"));
  EXPECT_THAT(fish("qkv eval r --split "), UnorderedElementsAre("val", "train"));
  EXPECT_THAT(fish("qkv eval r --json=no"), ElementsAre("--json=notes.txt"));
}

TEST_F(CompletionTest, ZshOffersTheSame) {
  if (!is_there("zsh")) GTEST_SKIP() << "there is no zsh";
  // zsh completes for a person only: what the script asks of zsh's functions is looked at.
  const std::string script =
      "compdef() { : }; compset() { : }; _describe() { print -rl -- ${(P)2} }; "
      "_files() { print -r -- _files $@ }; source ./completion.zsh; ";
  const auto asked = [&](const std::string& words, int current) {
    const ProcessResult result = in_shell(
        "zsh", {"-f"}, absl::StrCat(script, "words=(", words, "); CURRENT=", current, "; _qkv"));
    EXPECT_EQ(result.errors, "");
    return lines_of(result.output);
  };
  EXPECT_THAT(asked("qkv t", 2),
              Contains("train:trains a model; writes a folder, by default runs/NAME"));
  EXPECT_THAT(asked("qkv train --r", 3),
              Contains("--resume:Continues the run in its folder; CONFIG may also be that folder"));
  EXPECT_THAT(asked("qkv train t", 3), ElementsAre("_files -g *.toml(-.)"));
  EXPECT_THAT(asked("qkv eval r", 3), ElementsAre("runs/small", "_files"));
  EXPECT_THAT(asked("qkv eval --split=", 3), ElementsAre("--split=val", "--split=train"));
  EXPECT_THAT(asked("qkv train t --set model.d_m", 5), Contains("model.d_model="));
}

TEST_F(CompletionTest, TheManualPageHasNoMistakeAndTellsAllOptions) {
  const ProcessResult page = qkv({"man"});
  expect_success(page);
  write_bytes(folder_ / "qkv.1", page.output);
  if (!is_there("man")) GTEST_SKIP() << "there is no man";
  const ProcessResult shown = run_process(
      {"/usr/bin/env", "LC_ALL=C.UTF-8", "MANWIDTH=80", "man", "--warnings", "-l", "qkv.1"},
      {.folder = folder_.path()});
  EXPECT_EQ(shown.exit_status, 0);
  EXPECT_EQ(shown.errors, "");
  for (const char* text : {"qkv gradcheck", "--mutate", "qkv eval RUN…", "grad_clip", "NO_COLOR",
                           "[model]", "--set KEY=VALUE"}) {
    EXPECT_THAT(shown.output, HasSubstr(text));
  }
}

// qkv starts the program of an app for its verbs.

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
