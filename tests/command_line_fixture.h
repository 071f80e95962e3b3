#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "tests/process.h"
#include "tests/temporary_folder.h"

namespace qkv {

// The task and the model of a run of a second, and the table [train], to which more can be added.
inline const std::string kTinyRun = R"([data]
task = "reverse"
alphabet = 4
length = 3
[model]
num_layers = 1
d_model = 16
num_heads = 2
d_ff = 32
[train]
batch_size = 8
eval_interval = 20
)";
inline const std::string kConfig =
    "name = \"tiny\"\n" + kTinyRun + "steps = 40\nlog_interval = 5\n";

// Whether the tree has the verb: without the folder of an app there are none of its verbs.
inline bool has_verb(const std::string& verb) {
  namespace fs = std::filesystem;
  const std::string apps = QKV_SOURCE_DIR "/apps", file = verb + ".cc";
  if (fs::exists(fs::path(QKV_SOURCE_DIR "/cli") / file)) return true;
  if (!fs::exists(apps)) return false;
  return std::ranges::any_of(fs::directory_iterator(apps), [&](const fs::directory_entry& app) {
    return fs::exists(app.path() / "verbs" / file);
  });
}

// The rest of the test is of verbs of apps, and is skipped where one of them is missing.
#define NEEDS_VERBS(...)                                                           \
  for (const char* verb : {__VA_ARGS__}) {                                         \
    if (!qkv::has_verb(verb)) GTEST_SKIP() << "no app here has the verb " << verb; \
  }

// What a program says to a person, without the folds of its long lines.
inline std::string unfolded(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\n  ", " "}});
}

// A folder with that config, tiny.toml, in which the built program runs.
class CommandLineFixture : public testing::Test {
 protected:
  CommandLineFixture() { write_bytes(folder_ / "tiny.toml", kConfig); }

  ProcessResult qkv(std::vector<std::string> arguments, ProcessOptions options = {}) {
    arguments.insert(arguments.begin(), QKV_BINARY);
    options.folder = folder_.path();
    return run_process(arguments, options);
  }

  // Trains tiny.toml with the settings, to the folder `out`.
  ProcessResult train_tiny(const std::string& out, const std::vector<std::string>& settings = {},
                           const ProcessOptions& options = {}) {
    std::vector<std::string> command = {"train", "tiny.toml", "--out", out};
    for (const std::string& setting : settings) {
      command.insert(command.end(), {"--set", setting});
    }
    return qkv(command, options);
  }

  void expect_success(const ProcessResult& result) {
    EXPECT_EQ(result.exit_status, 0) << result.output << result.errors;
    EXPECT_EQ(result.errors, "");
  }

  void expect_error(const ProcessResult& result, int exit_status, const std::string& message) {
    EXPECT_EQ(result.exit_status, exit_status) << result.output;
    EXPECT_EQ(result.errors, "error: " + message + "\n");
  }

  std::string in(const std::string& path) const { return contents_of(folder_ / path); }

  TemporaryFolder folder_;
};

}  // namespace qkv
