// ./qkv explain: what it writes, and what it refuses.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "apps/lesson/fitted_page.h"
#include "apps/lesson/lesson_examples.h"
#include "apps/lesson/page.h"
#include "framework/io/safetensors.h"
#include "tests/command_line_fixture.h"
#include "train/folder/experiment.h"

namespace qkv {
namespace {

using nlohmann::json;

class ExplainTest : public CommandLineFixture {
 protected:
  void train(std::vector<std::string> more = {}) {
    more.insert(more.begin(),
                {"train", "tiny.toml", "--set", "train.steps=4", "--set", "train.eval_interval=4"});
    expect_success(qkv(more));
  }

  json document(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "explain");
    arguments.insert(arguments.end(), {"--json", "lesson.json"});
    expect_success(qkv(arguments));
    return json::parse(in("lesson.json"));
  }
};

TEST_F(ExplainTest, NumberedCheckpointsAreTheHistoryOfTheExample) {
  train({"--set", "train.checkpoint_interval=1"});
  const json history = document({"runs/tiny"})["history"];
  ASSERT_EQ(history.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(history[i]["step"], i);  // 0: before training
    EXPECT_EQ(history[i]["weights"]["blocks.0.attention"]["shape"], json({1, 2, 6, 6}));
  }
  // What was changed afterwards was never trained.
  EXPECT_FALSE(document({"runs/tiny", "--set", "attention.causal=false"}).contains("history"));
  write_bytes(folder_ / "runs/tiny/checkpoints/step-000002.safetensors", "broken");
  const ProcessResult result = qkv({"explain", "runs/tiny", "--json", "lesson.json"});
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_EQ(
      result.errors.find("note: a numbered checkpoint is left out: runs/tiny/checkpoints/step-"),
      0u)
      << result.errors;
  EXPECT_EQ(json::parse(in("lesson.json"))["history"].size(), 4u);
}

TEST_F(ExplainTest, TheTerminalShowsTheSameWalkIn80Columns) {
  const ProcessResult result = qkv({"explain", "--example", "three-words", "--text"});
  expect_success(result);
  const std::string& text = result.output;
  EXPECT_LT(text.find("\nForward\n"), text.find("\nBackward\n"));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    EXPECT_LE(line.size(), 84u) << line;  // a few characters are of two bytes
  }
}

TEST_F(ExplainTest, ALessonHasEveryNumberedCheckpoint) {
  train({"--set", "train.steps=20", "--set", "train.checkpoint_interval=1", "--set",
         "data.length=50", "--set", "data.alphabet=2", "--set", "train.batch_size=1"});
  const json history = document({"runs/tiny"})["history"];
  ASSERT_EQ(history.size(), 21U);
  for (int step = 0; step <= 20; ++step) EXPECT_EQ(history[size_t(step)]["step"], step);
  const auto shown = [&](const std::string& size) {
    const std::string said = qkv({"explain", "runs/tiny", "--max-size", size}).errors;
    int steps = 21;
    EXPECT_TRUE(said.empty() ||
                std::sscanf(said.c_str(), "note: the page has room for %d of 21 steps", &steps) ==
                    1)
        << said;
    return steps;
  };
  const int few = shown("1");
  EXPECT_LT(few, 21);
  EXPECT_GT(shown("2"), few);
  EXPECT_EQ(shown("40"), 21);
}

TEST_F(ExplainTest, ALongPromptIsRefusedBeforeTheModelAnswersIt) {
  train();
  expect_error(qkv({"explain", "runs/tiny", "--prompt", std::string(2000, '0')}), 2,
               "--prompt has 2000 tokens; this model reads at most 6");
}

TEST_F(ExplainTest, NumbersThatAreTooLargeAreSaid) {
  train();
  const std::string best = folder_ / "runs/tiny/checkpoints/best.safetensors";
  TensorFile file = *read_safetensors(best);
  for (NamedArray& tensor : file.tensors) {
    if (tensor.name != "blocks.0.feed_forward.up.weight") continue;
    float* const numbers = tensor.array.mutable_data<float>();
    // So large that every sum overflows, in whatever order it is added up.
    std::fill(numbers, numbers + tensor.array.size(), 3.4e38F);
  }
  ASSERT_TRUE(write_safetensors(best, file).ok());
  const ProcessResult eval = qkv({"eval", "runs/tiny"});
  EXPECT_EQ(eval.exit_status, 1);
  EXPECT_EQ(eval.output, "");
  EXPECT_THAT(eval.errors,
              testing::MatchesRegex(
                  "error: runs/tiny/checkpoints/best.safetensors: the loss is -?(nan|inf), not a "
                  "finite number: some numbers of this model are too large to compute with\n"));
  for (const std::vector<std::string>& more : {std::vector<std::string>(), {"--prompt", "210="}}) {
    std::vector<std::string> generate = {"generate", "runs/tiny", "--prompt", "012="};
    generate.insert(generate.end(), more.begin(), more.end());
    const ProcessResult result = qkv(generate);
    EXPECT_THAT(result.output, testing::MatchesRegex(more.empty() ? "012=.*\n" : ""));
    expect_error(result, 1,
                 "runs/tiny/checkpoints/best.safetensors: the logits are not all finite numbers: "
                 "some numbers of this model are too large to compute with");
  }
}

constexpr int64_t kNoLimit = int64_t{1} << 30;

std::string unpacked(const std::string& packed) {
  constexpr size_t kMost = size_t{1} << 25;
  std::string bytes, text(kMost, '\0');
  EXPECT_TRUE(absl::Base64Unescape(packed, &bytes));
  uLongf size = kMost;
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(text.data()), &size,
                       reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()),
            Z_OK);
  text.resize(size);
  return text;
}

json document_in(const std::string& page) {
  const size_t begin = page.find("id=\"document\">") + std::strlen("id=\"document\">");
  return json::parse(unpacked(page.substr(begin, page.find("</script>", begin) - begin)));
}

// Computed values that have numbers of the engine.
int64_t compared_in(const json& document) {
  return std::ranges::count_if(document["values"], [](const json& value) {
    return value["kind"] == "computed" && value.contains("numbers");
  });
}

// That of three words with two layers of 32.
Lesson wider_lesson() {
  Lesson lesson = find_lesson("three-words").value();
  lesson.config.model.num_layers = 2;
  lesson.config.model.d_model = 32;
  lesson.config.model.d_ff = 128;
  lesson.model = make_model(lesson.config, lesson.model.data());
  return lesson;
}

// And what it was after forty steps of training.
class FittedPageTest : public testing::Test {
 protected:
  FittedPageTest() : lesson_(wider_lesson()) {
    lesson_.layer = "blocks.1.attention";
    const Recording recording = recorded();
    for (int64_t step = 1; step <= 40; ++step) {
      lesson_.history.push_back(frame_of(recording, step));
    }
  }

  Recording recorded() const { return record(lesson_.model, lesson_.batch, lesson_.form()); }
  std::string page(int64_t most_bytes) const {
    return fitted_page(recorded(), lesson_, most_bytes);
  }

  Lesson lesson_;
};

TEST_F(FittedPageTest, WhereThereIsRoomAllIsThere) {
  const json document = document_in(page(kNoLimit));
  EXPECT_FALSE(document["meta"].contains("part"));
  EXPECT_EQ(document["history"].size(), 40u);
  EXPECT_GT(compared_in(document), 50);
}

TEST_F(FittedPageTest, OtherFormsAreThereForWhoAsks) {
  constexpr char kNone[] = "id=\"variants\"></script>";
  EXPECT_NE(page(kNoLimit).find(kNone), std::string::npos);
  lesson_.has_forms = true;
  EXPECT_EQ(page(kNoLimit).find(kNone), std::string::npos);
}

TEST_F(FittedPageTest, WhatDoesNotFitIsLeftOutAndTheRestIsStillCompared) {
  const int64_t whole = std::ssize(page(kNoLimit));
  size_t frames = 40;
  for (const int64_t most_bytes : {whole - 1, whole - 100000}) {
    const std::string small = page(most_bytes);
    EXPECT_LT(std::ssize(small), most_bytes);
    const json document = document_in(small);
    EXPECT_FALSE(document["meta"].contains("part"));
    EXPECT_GT(compared_in(document), 10);
    EXPECT_LE(document["history"].size(), frames);
    frames = document["history"].size();
  }
}

TEST_F(FittedPageTest, WhereTheModelDoesNotFitThereIsABlockOrALayerOfItAndItIsCompared) {
  const auto frame = std::ssize(lesson_page("", "", ""));
  const std::string block = page(frame + 300000);
  EXPECT_LT(std::ssize(block), frame + 300000);
  EXPECT_EQ(document_in(block)["meta"]["part"], "blocks.1");
  EXPECT_GT(compared_in(document_in(block)), 10);
  const json layer = document_in(page(frame));  // which cannot be
  EXPECT_EQ(layer["meta"]["part"], "blocks.1.attention");
  EXPECT_GT(compared_in(layer), 3);
}

}  // namespace
}  // namespace qkv
