// ./qkv generate: what it gives to a terminal and to a pipe, and where a text ends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

class GenerateVerbTest : public CommandLineFixture {
 protected:
  void train_on_text(const std::string& text = "A fox.\nA dog; a \u6F22\u5B57.\n") {
    std::string repeated;
    for (int i = 0; i < 50; ++i) repeated += text;
    write_bytes(folder_ / "text.txt", repeated);
    expect_success(
        qkv({"train", "tiny.toml", "--set", "data.task=text", "--set", "data.path=text.txt",
             "--set", "train.steps=1", "--set", "data.alphabet=10"}));
  }

  std::string written(std::vector<std::string> options, const ProcessOptions& process = {}) {
    options.insert(options.begin(), {"generate", "runs/tiny"});
    const ProcessResult result = qkv(options, process);
    expect_success(result);
    return result.output;
  }

  json document(std::vector<std::string> options) {
    options.insert(options.end(), {"--json", "-"});
    return json::parse(written(options), nullptr, /*allow_exceptions=*/false);
  }

  // Each with the bytes of a model of texts with control characters, nothing generated.
  void expect_shown(const std::string& prompt, const std::string& shown) {
    for (const bool in_terminal : {false, true}) {
      EXPECT_EQ(
          written({"--prompt", prompt, "--max-new-tokens", "0"}, {.in_terminal = in_terminal}),
          (in_terminal ? shown : prompt) + "\n");
    }
  }
};

TEST_F(GenerateVerbTest, ATerminalIsGivenControlCharactersEscapedAndAPipeAsTheyAre) {
  const std::string sentence = "a\x1B[31m \u009B1m b\a\t\u202E\nb";
  train_on_text(sentence);
  const std::string escaped = "a\\x1B[31m \\xC2\\x9B1m b\\x07\t\\xE2\\x80\\xAE\nb";
  expect_shown(sentence, escaped);

  std::vector<std::string> options = {"--max-new-tokens", "100", "--prompt", "a"};
  for (int prompts = 1; prompts <= 2; ++prompts) {
    EXPECT_THAT(written(options), HasSubstr("\a"));
    const std::string shown = written(options, {.in_terminal = true});
    EXPECT_THAT(shown, HasSubstr("\\x07"));
    for (const char* control : {"\x1B", "\u009B", "\a", "\u202E"}) {
      EXPECT_EQ(shown.find(control), std::string::npos) << prompts;
    }
    options.insert(options.end(), {"--prompt", "b"});
  }
}

TEST_F(GenerateVerbTest, CtrlCEndsTheTextThatIsBeingWritten) {
  train_on_text();
  ProcessOptions process;
  std::string before;
  process.on_output = [&](pid_t program, const std::string& output) {
    if (output.size() < 50) return false;
    before = output;  // what has come, although the text has not ended
    ::kill(program, SIGINT);
    return true;
  };
  const ProcessResult result = qkv({"generate", "runs/tiny", "--prompt", "A", "--samples", "5",
                                    "--max-new-tokens", "100000000", "--json", "texts.json"},
                                   process);
  EXPECT_EQ(result.exit_status, 130);
  EXPECT_EQ(result.errors, "");
  EXPECT_THAT(result.output, StartsWith(before));
  const json texts = json::parse(in("texts.json"))["texts"];
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0]["end"], "interrupted");
  EXPECT_EQ(absl::StrCat("A", texts[0]["text"].get<std::string>(), "\n"), result.output);
}

}  // namespace
}  // namespace qkv
