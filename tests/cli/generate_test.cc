// ./qkv generate: what it gives to a terminal, and what to a pipe.

#include <gtest/gtest.h>

#include <string>

#include "tests/cli/command_line_fixture.h"

namespace qkv {
namespace {

class GenerateVerbTest : public CommandLineFixture {
 protected:
  // Each with the bytes of a model of texts with control characters, nothing generated.
  void expect_shown(const std::string& prompt, const std::string& shown) {
    for (const bool in_terminal : {false, true}) {
      const ProcessResult result =
          qkv({"generate", "runs/tiny", "--prompt", prompt, "--max-new-tokens", "0"},
              {.in_terminal = in_terminal});
      expect_success(result);
      EXPECT_EQ(result.output, (in_terminal ? shown : prompt) + "\n");
    }
  }
};

TEST_F(GenerateVerbTest, ATerminalIsGivenControlCharactersEscapedAndAPipeAsTheyAre) {
  const std::string sentence = "a\x1B[31m \u009B1m b\a\t\u202E\nb";
  std::string text;
  for (int i = 0; i < 50; ++i) text += sentence;
  write_bytes(folder_ / "text.txt", text);
  expect_success(
      qkv({"train", "tiny.toml", "--set", "data.task=text", "--set", "data.path=text.txt", "--set",
           "train.steps=1", "--set", "data.alphabet=10"}));
  const std::string escaped = "a\\x1B[31m \\xC2\\x9B1m b\\x07\t\\xE2\\x80\\xAE\nb";
  expect_shown(sentence, escaped);

  std::vector<std::string> command = {"generate", "runs/tiny", "--max-new-tokens",
                                      "100",      "--prompt",  "a"};
  for (int prompts = 1; prompts <= 2; ++prompts) {
    const std::string piped = qkv(command).output;
    EXPECT_NE(piped.find('\a'), std::string::npos);
    const std::string shown = qkv(command, {.in_terminal = true}).output;
    EXPECT_NE(shown.find("\\x07"), std::string::npos);
    for (const char* control : {"\x1B", "\u009B", "\a", "\u202E"}) {
      EXPECT_EQ(shown.find(control), std::string::npos) << prompts;
    }
    command.insert(command.end(), {"--prompt", "b"});
  }
}

}  // namespace
}  // namespace qkv
