// The kinds of models beside the decoder, from their training to their answers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

using testing::HasSubstr;

class ModelsTest : public CommandLineFixture {
 protected:
  // tiny.toml with that kind of model, trained for some steps as runs/NAME.
  void train(const std::string& name, const std::string& kind, const std::string& data) {
    const std::string config = absl::StrReplaceAll(
        kConfig, {{"name = \"tiny\"", absl::StrCat("name = \"", name, "\"")},
                  {"[model]\n", absl::StrCat("[model]\nkind = \"", kind, "\"\n")},
                  {"task = \"reverse\"\n", data}});
    write_bytes(folder_ / (name + ".toml"), config);
    expect_success(qkv({"train", name + ".toml"}));
  }

  std::string answer(const std::vector<std::string>& command) {
    const ProcessResult result = qkv(command);
    expect_success(result);
    return result.output;
  }
};

TEST_F(ModelsTest, AnEncoderDecoderAnswersABatchOfPromptsAsEachAlone) {
  train("both", "encoder_decoder", "task = \"reverse\"\nmin_length = 2\n");
  std::string alone;
  for (const char* prompt : {"012=", "31=", "230="}) {
    absl::StrAppend(&alone, answer({"generate", "runs/both", "--prompt", prompt}));
  }
  EXPECT_EQ(
      answer({"generate", "runs/both", "--prompt", "012=", "--prompt", "31=", "--prompt", "230="}),
      alone);
  EXPECT_THAT(answer({"eval", "runs/both"}), HasSubstr("sequences right"));
  const ProcessResult no_question = qkv({"generate", "runs/both", "--prompt", "=0"});
  EXPECT_EQ(no_question.exit_status, 0);
  EXPECT_THAT(no_question.errors,
              HasSubstr("warning: \"=0\" is not a question of the task reverse, such as \""));
  expect_error(qkv({"generate", "runs/both", "--prompt", "01230123="}), 2,
               "--prompt has 9 tokens; this model reads at most 4");
  expect_error(qkv({"generate", "runs/both", "--prompt", "01=", "--max-new-tokens", "9"}), 2,
               "--max-new-tokens: this model answers with at most 3 tokens");
}

TEST_F(ModelsTest, AnEncoderDecoderThatIsTrainedAgainHasTheSameBits) {
  train("whole", "encoder_decoder", "task = \"reverse\"\nmin_length = 2\n");
  const std::string last = "/checkpoints/last.safetensors";
  const std::string bits = in("runs/whole" + last);
  expect_success(qkv({"train", "whole.toml", "--out", "runs/again"}));
  EXPECT_EQ(in("runs/again" + last), bits);
}

TEST_F(ModelsTest, AClassifierAnswersWithOneToken) {
  const std::string config = absl::StrReplaceAll(
      kConfig, {{"task = \"reverse\"", "task = \"associative_recall\"\npairs = 2"},
                {"length = 3\n", ""},
                {"[model]\n", "[model]\nkind = \"classifier\"\n"}});
  write_bytes(folder_ / "class.toml", config);
  expect_success(qkv({"train", "class.toml", "--out", "runs/class"}));
  const std::string text = answer({"generate", "runs/class", "--prompt", "aBbC=a"});
  EXPECT_EQ(text.substr(0, 6), "aBbC=a");
  EXPECT_EQ(text.size(), 8u) << text;
  expect_error(qkv({"generate", "runs/class", "--prompt", "aBbC=a", "--max-new-tokens", "2"}), 2,
               "--max-new-tokens: this model answers with at most 1 token");
}

// Scores of next to nothing: each of the four tokens of a question gets a quarter.
TEST_F(ModelsTest, EvalTellsWhereTheAnswerLooks) {
  expect_success(qkv({"train", "tiny.toml", "--set", "attention.scale=1e-12"}));
  const std::string text = answer({"eval", "runs/tiny", "--attention", "="});
  EXPECT_THAT(text, HasSubstr("  blocks.0.attention                      0     25.0 %"));
  EXPECT_THAT(text, HasSubstr("  blocks.0.attention                      1     25.0 %"));
  EXPECT_EQ(qkv({"eval", "runs/tiny", "--attention", "12"}).errors,
            "error: --attention needs one token, not 2\n");
}

TEST_F(ModelsTest, PatchesThatDoNotDivideTheImageAreAMistake) {
  write_bytes(folder_ / "images.toml",
              "[data]\ntask = \"shapes\"\nimage_size = 18\n[model]\nkind = \"classifier\"\n");
  expect_error(qkv({"train", "images.toml"}), 2,
               "\"model.patch_size\" is 4, which does not divide images of 18 x 18 pixels");
}

}  // namespace
}  // namespace qkv
