// ./qkv generate: what it reads, what it gives to a terminal, to a pipe and as JSON.

#include <dlfcn.h>
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
using testing::Not;
using testing::StartsWith;

class GenerateVerbTest : public CommandLineFixture {
 protected:
  void train_on(const std::string& task, const std::string& text) {
    write_bytes(folder_ / "text.txt", text);
    expect_success(
        qkv({"train", "tiny.toml", "--set", absl::StrCat("data.task=", task), "--set",
             "data.path=text.txt", "--set", "train.steps=1", "--set", "data.alphabet=10"}));
  }

  void train_on_text(const std::string& text = "A fox.\nA dog; a \u6F22\u5B57.\n") {
    std::string repeated;
    for (int i = 0; i < 50; ++i) repeated += text;
    train_on("text", repeated);
  }

  void train_on_questions() { expect_success(qkv({"train", "tiny.toml"})); }

  // What an error shows as one.
  std::string question() {
    const std::string said = qkv({"generate", "runs/tiny", "--prompt", ""}).errors;
    return said.substr(said.rfind("=\"") - 3, 4);
  }

  std::string written(std::vector<std::string> options, const ProcessOptions& process = {}) {
    options.insert(options.begin(), {"generate", "runs/tiny"});
    const ProcessResult result = qkv(options, process);
    expect_success(result);
    return result.output;
  }

  json document(std::vector<std::string> options, const ProcessOptions& process = {}) {
    options.insert(options.end(), {"--json", "-"});
    return json::parse(written(options, process), nullptr, /*allow_exceptions=*/false);
  }

  void expect_refused(std::vector<std::string> options, const std::string& message,
                      const ProcessOptions& process = {}) {
    options.insert(options.begin(), {"generate", "runs/tiny"});
    expect_error(qkv(options, process), 2, message);
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

TEST_F(GenerateVerbTest, QuestionsStandOneOnALineOfAFileOrOfStandardInput) {
  train_on_questions();
  const std::string questions = "012=\r\n333=\n210=\n";
  write_bytes(folder_ / "questions.txt", questions);
  const std::string expected =
      written({"--prompt", "012=", "--prompt", "333=", "--prompt", "210="});
  EXPECT_THAT(expected, StartsWith("012="));
  EXPECT_EQ(written({"--prompt-file", "questions.txt"}), expected);
  EXPECT_EQ(written({"--prompt-file", "-"}, {.input = questions}), expected);
  EXPECT_EQ(written({}, {.input = questions}), expected);
  EXPECT_EQ(written({"--prompt", "012=", "--prompt-file", "-"}, {.input = "333=\n210="}), expected);

  expect_refused({}, "standard input:2: unknown character 3: \"x\"; the vocabulary is: 0123=",
                 {.input = "012=\n01x=\n"});
  expect_refused({"--prompt-file", "none"}, "cannot read none: No such file or directory");
  expect_refused({},
                 "standard input is empty, but this model needs a question of the task reverse, "
                 "such as \"" +
                     question() + "\"");
  expect_refused({"--json", "-"}, "--prompt TEXT is needed: --json - has no place for a talk",
                 {.in_terminal = true});
}

TEST_F(GenerateVerbTest, OneTextIsReadFromAFileWithoutItsLastLineEnd) {
  train_on_text();
  const std::string prompt = "A fox.\n\nA \u6F22";
  const std::string expected = written({"--prompt", prompt});
  EXPECT_THAT(expected, StartsWith(prompt));
  EXPECT_EQ(written({}, {.input = prompt + "\n"}), expected);
  EXPECT_EQ(written({}, {.input = prompt}), expected);
  EXPECT_NE(written({}, {.input = prompt + "\n\n"}), expected);
}

TEST_F(GenerateVerbTest, AnEmptyPromptBeginsALineOfAText) {
  train_on_text();
  const std::string begun = written({"--prompt", "\n", "--max-new-tokens", "30"});
  for (const auto& prompt : {std::vector<std::string>{"--prompt", ""}, {"--prompt="}, {}}) {
    std::vector<std::string> options = {"--max-new-tokens", "30"};
    options.insert(options.end(), prompt.begin(), prompt.end());
    EXPECT_EQ("\n" + written(options), begun);
  }
}

TEST_F(GenerateVerbTest, ATextWithoutLinesHasNothingToBeginAfter) {
  train_on_text("abcabd");
  expect_refused({"--prompt", ""},
                 "--prompt is empty, but the text that this model learned has no line end to begin "
                 "after");
}

TEST_F(GenerateVerbTest, EveryPromptBeginsALineWhereExamplesAreLines) {
  std::string names;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&names, "lib", i, "\n");
  train_on("lines", names);
  const std::string begun = written({"--prompt", "\nlib", "--seed", "3"});
  EXPECT_EQ("\n" + written({"--prompt", "lib", "--seed", "3"}), begun);
  const json many = document({"--temperature", "9"}, {.input = "lib\n\nl\n"})["texts"];
  ASSERT_EQ(many.size(), 3u);
  EXPECT_EQ(many[1]["prompt"], "");
  for (const json& text : many) {
    EXPECT_EQ(text["end"], "last token") << text;
    EXPECT_THAT(text["text"].get<std::string>(), Not(HasSubstr("\n")));
  }
}

TEST_F(GenerateVerbTest, WhatIsNoQuestionGetsAWarningWithAQuestionAndAnAnswer) {
  train_on_questions();
  const ProcessResult result = qkv({"generate", "runs/tiny", "--prompt", "=0", "--prompt",
                                    "012=", "--prompt", "0", "--prompt", "00"});
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_THAT(result.output, StartsWith("=0"));
  const std::string begins = "warning: \"=0\" is not a question of the task reverse, such as \"";
  ASSERT_THAT(result.errors, StartsWith(begins));
  const std::string question = result.errors.substr(begins.size(), 4);
  EXPECT_EQ(result.errors.substr(begins.size() + 4),
            "\" (nor are 2 more); there is no right answer\n");
  written({"--prompt", question});  // without a word about it

  expect_refused({"--prompt", ""},
                 absl::StrCat("--prompt is empty, but this model needs a question of the task "
                              "reverse, such as \"",
                              question, "\""));
  expect_refused({},
                 absl::StrCat("standard input:2 is empty, but this model needs a question of "
                              "the task reverse, such as \"",
                              question, "\""),
                 {.input = "012=\n\n210="});
}

TEST_F(GenerateVerbTest, ASampleIsAFunctionOfTheSeedAndItsNumber) {
  train_on_text();
  const std::vector<std::string> options = {"--prompt", "A", "--max-new-tokens", "40"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), options.begin(), options.end());
    return more;
  };
  const std::string line = "---------------\n";
  const std::string one = written(options), two = written(with({"--samples", "2"})),
                    three = written(with({"--samples", "3"}));
  EXPECT_THAT(two, StartsWith(one + line));
  EXPECT_THAT(three, StartsWith(two + line));
  const json texts = document(with({"--samples", "3"}))["texts"];
  ASSERT_EQ(texts.size(), 3u);
  EXPECT_NE(texts[0]["text"], texts[1]["text"]);
  EXPECT_NE(texts[1]["text"], texts[2]["text"]);
  std::string joined;
  for (const json& text : texts) {
    EXPECT_EQ(text["tokens"], 40);
    absl::StrAppend(&joined, joined.empty() ? "" : line, "A", text["text"].get<std::string>(),
                    "\n");
  }
  EXPECT_EQ(joined, three);
}

TEST_F(GenerateVerbTest, ATextEndsBeforeAStop) {
  train_on_text();
  const std::vector<std::string> options = {"--prompt", "A", "--seed", "5"};
  const std::string whole = document(options)["texts"][0]["text"];
  const std::string stop = whole.substr(whole.find(' ', 50), 3);
  std::vector<std::string> stopped = options;
  stopped.insert(stopped.end(), {"--stop", "not there", "--stop", stop});
  const json text = document(stopped)["texts"][0];
  EXPECT_EQ(text["text"], whole.substr(0, whole.find(stop)));
  EXPECT_EQ(text["end"], "stop");
  EXPECT_EQ(written(stopped), absl::StrCat("A", whole.substr(0, whole.find(stop)), "\n"));
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

TEST_F(GenerateVerbTest, ABeamOfOneAnswersAsTheMostLikelyTokensDo) {
  train_on_questions();
  const std::string greedy = written({"--prompt", "012=", "--temperature", "0"});
  EXPECT_EQ(written({"--prompt", "012=", "--beam", "1"}), greedy);
  const json text = document({"--prompt", "012=", "--beam", "5"})["texts"][0];
  ASSERT_EQ(text["beam"].size(), 5u);
  EXPECT_EQ(text["beam"][0]["text"], text["text"]);
  for (size_t i = 1; i < 5; ++i) {
    EXPECT_GE(text["beam"][i - 1]["score"], text["beam"][i]["score"]);
    EXPECT_NE(text["beam"][i - 1]["text"], text["beam"][i]["text"]);
  }
  expect_refused({"--prompt", "012=", "--beam", "2", "--samples", "3"},
                 "--beam and --samples exclude each other: a beam searches the most likely text "
                 "and samples nothing");
  expect_refused({"--prompt", "012=", "--beam", "0"}, "--beam must be in 1 … 1024");
  expect_refused({"--prompt", "012=", "--length-penalty", "1"}, "--length-penalty needs --beam");
}

}  // namespace
}  // namespace qkv
