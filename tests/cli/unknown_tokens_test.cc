// What a model is asked that training did not have: data.tokens of every task that reads a text.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "framework/io/safetensors.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class UnknownTokensTest : public CommandLineFixture {
 protected:
  UnknownTokensTest() {
    // "Ö" and "rare" stand in one question for training, "ß" in one answer, "é" and "new" in one
    // question for validation.
    std::string questions = "ask an Ö rare\tß\n", texts = "left\task an Ö rare\n", lines;
    for (int i = 0; i < 40; ++i) {
      absl::StrAppend(&questions, "ask ", i % 20, " of ", i / 20, "\t", i % 10, "\n");
      absl::StrAppend(&texts, i % 2 ? "left" : "right", "\task ", i % 20, " of ", i / 20, "\n");
      absl::StrAppend(&lines, "ask ", i % 20, " of ", i / 20, "\n");
    }
    write_bytes(folder_ / "pairs.tsv", questions);
    write_bytes(folder_ / "classes.tsv", texts);
    write_bytes(folder_ / "lines.txt", lines);
    write_bytes(folder_ / "pairs-held.tsv", "ask a new é\t1\nask 7 of 77\t7\n");
    write_bytes(folder_ / "classes-held.tsv", "left\task a new é\nright\task 7 of 77\n");
    write_bytes(folder_ / "lines-held.txt", "ask 7 of 77\n");
  }

  std::vector<std::string> command(const std::string& verb, const std::string& task,
                                   const std::vector<std::string>& settings) {
    const std::string end = task == "pairs" || task == "classes" ? ".tsv" : ".txt";
    const std::string file = task == "text" ? "lines" : task;
    std::vector<std::string> words = {verb, "tiny.toml"};
    for (const std::string& setting :
         {"data.task=" + task, absl::StrCat("data.path=", file, end),
          absl::StrCat("data.validation_path=", file, "-held", end),
          std::string("data.alphabet=10"),
          std::string("data.length=") + (task == "text" ? "4" : "16"),
          std::string("data.context=") + (end == ".tsv" ? "40" : "0"),
          std::string("model.kind=") + (task == "classes" ? "classifier" : "decoder"),
          std::string("train.steps=2"), std::string("train.eval_interval=2")}) {
      words.insert(words.end(), {"--set", setting});
    }
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
    return words;
  }

  void train(const std::string& out, const std::string& task,
             const std::vector<std::string>& settings = {}) {
    std::vector<std::string> words = command("train", task, settings);
    words.insert(words.end(), {"--out", out});
    const ProcessResult result = qkv(words);
    ASSERT_EQ(result.exit_status, 0) << result.errors;
  }

  std::string data(const std::string& task, const std::vector<std::string>& settings = {}) {
    const ProcessResult result = qkv(command("data", task, settings));
    EXPECT_EQ(result.exit_status, 0) << result.errors;
    return result.output;
  }

  json metadata(const std::string& run, const std::string& name) {
    const auto header = read_safetensors_header(folder_ / (run + "/checkpoints/last.safetensors"));
    return header.ok() ? json::parse(header->metadata.at(name)) : json();
  }

  std::vector<json> predicted(const std::string& run, const std::string& questions) {
    ProcessOptions options;
    options.input = questions;
    const ProcessResult result = qkv({"predict", run, "-", "--format", "json"}, options);
    EXPECT_EQ(result.exit_status, 0) << result.errors;
    std::vector<json> answers;
    for (const auto line : absl::StrSplit(result.output, '\n', absl::SkipEmpty())) {
      answers.push_back(json::parse(line));
    }
    return answers;
  }
};

TEST_F(UnknownTokensTest, EveryTaskThatReadsATextHasEveryKindOfTokensAndCanBeAskedAnything) {
  const std::string prompt = "ask Ünd 🙂 É";
  train("bpe", "lines", {"data.tokens=bpe", "data.vocabulary_size=262"});
  for (const std::string task : {"pairs", "classes", "lines", "text"}) {
    for (const std::string tokens : {"characters", "bytes", "words", "bpe", "tokenizer"}) {
      SCOPED_TRACE(absl::StrCat(task, " ", tokens));
      std::vector<std::string> settings = {"data.tokens=" + tokens};
      if (tokens == "bpe") settings.emplace_back("data.vocabulary_size=262");
      if (tokens == "words") settings.emplace_back("data.vocabulary_size=30");
      if (tokens == "tokenizer") settings.emplace_back("data.tokenizer=bpe/tokenizer.json");
      const bool asks = task == "pairs" || task == "classes";
      if (tokens == "characters" && !asks) settings.emplace_back("data.min_count=2");
      const std::string run = absl::StrCat(task, "-", tokens);
      train(run, task, settings);
      EXPECT_EQ(qkv({"eval", run}).exit_status, 0);
      if (asks && has_verb("predict")) {
        EXPECT_EQ(predicted(run, prompt + "\n").size(), 1u);
      }
      if (task != "classes") {
        const ProcessResult written = qkv({"generate", run, "--prompt", prompt});
        EXPECT_EQ(written.exit_status, 0) << written.errors;
      }
      const bool has_unknown = tokens == "characters" || tokens == "words";
      EXPECT_EQ(data(task, settings).find("\nunknown      \"") != std::string::npos, has_unknown);
      if (has_verb("export")) expect_success(qkv({"export", run, "--onnx", run + ".onnx"}));
    }
  }
}

TEST_F(UnknownTokensTest, WhatTrainingHasOnceInAQuestionIsUnknownAndWhatIsAnsweredIsNot) {
  train("run", "pairs");
  std::vector<std::string> texts = metadata("run", "vocabulary");
  EXPECT_EQ(texts.back(), "\uFFFD");
  EXPECT_THAT(texts, Contains("ß"));
  EXPECT_THAT(texts, Not(Contains("Ö")));
  EXPECT_THAT(texts, Not(Contains("é")));
  EXPECT_EQ(metadata("run", "tokenizer")["model"]["unk_token"], "\uFFFD");
  EXPECT_THAT(data("pairs"),
              HasSubstr("\nunknown      \"\uFFFD\": what training has too rarely, or "
                        "not at all\n"));
  train("all", "pairs", {"data.min_count=1"});
  texts = metadata("all", "vocabulary").get<std::vector<std::string>>();
  EXPECT_THAT(texts, Contains("Ö"));
  EXPECT_THAT(texts, Not(Contains("é")));
  train("words", "pairs", {"data.tokens=words"});
  texts = metadata("words", "vocabulary").get<std::vector<std::string>>();
  EXPECT_THAT(texts, Contains(" of"));
  EXPECT_THAT(texts, Contains("ß"));
  EXPECT_THAT(texts, Not(Contains(" rare")));
  // A text and lines have every character, as before, unless they are to have an unknown one.
  train("lines", "lines");
  texts = metadata("lines", "vocabulary").get<std::vector<std::string>>();
  EXPECT_THAT(texts, Not(Contains("\uFFFD")));
}

// Of a dictionary each question may stand there once.
TEST_F(UnknownTokensTest, NoTwoQuestionsBecomeAlike) {
  write_bytes(folder_ / "pairs.tsv", "火\tfire\n水\twater\n木\ttree\n");
  train("run", "pairs");
  EXPECT_THAT(metadata("run", "vocabulary").get<std::vector<std::string>>(),
              testing::IsSupersetOf({"火", "水", "木", "\uFFFD"}));
  train("twice", "pairs", {"data.min_count=2"});
  EXPECT_THAT(metadata("twice", "vocabulary").get<std::vector<std::string>>(), Not(Contains("火")));
}

TEST_F(UnknownTokensTest, AllThatIsUnknownIsOneToken) {
  NEEDS_VERBS("predict");
  train("run", "classes", {"optimizer.learning_rate=0.1", "train.steps=20"});
  const std::vector<json> answers = predicted("run", "ask Ö\nask 🙂\nask é\nask a\n");
  ASSERT_EQ(answers.size(), 4u);
  const auto same = [](const json& answer) {
    return std::pair(answer["class"], answer["probability"]);
  };
  EXPECT_EQ(same(answers[1]), same(answers[0]));
  EXPECT_EQ(same(answers[2]), same(answers[0]));
  EXPECT_NE(same(answers[3]), same(answers[0]));
}

TEST_F(UnknownTokensTest, AnAnswerThatIsUnknownIsNeverRight) {
  write_bytes(folder_ / "pairs.tsv", "a\tx\nb\tx\nc\tx\nab\tx\nba\tx\n");
  // Everything else is the unknown token, of whatever answer.
  train("run", "pairs",
        {"data.validation_path=", "data.train_fraction=0.5", "train.steps=60",
         "optimizer.learning_rate=0.1"});
  write_bytes(folder_ / "other.tsv", "ab\tö\nb\tö\n");
  const json judged =
      json::parse(qkv({"eval", "run", "--text", "other.tsv", "--json", "-"}).output);
  EXPECT_EQ(judged["sequence_accuracy"], 0.0);
}

TEST_F(UnknownTokensTest, ATokenizerWithoutTheEndOfAnAnswerIsNamed) {
  write_bytes(folder_ / "tokenizer.json",
              R"({"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":)"
              R"("Split","pattern":{"Regex":"[\\s\\S]"},"behavior":"Isolated","invert":false},)"
              R"("post_processor":null,"decoder":{"type":"Fuse"},"model":{"type":"WordLevel",)"
              R"("vocab":{"?":0,"a":1,"\n":2},"unk_token":"?"}})");
  expect_error(
      qkv(command("train", "pairs", {"data.tokens=tokenizer", "data.tokenizer=tokenizer.json"})), 2,
      "tokenizer.json: has no token for the tab after a question; use another "
      "data.tokenizer, or data.tokens = \"bpe\"");
}

}  // namespace
}  // namespace qkv
