// Training on a system that has too little of something: the built program under limits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// Of more questions than a batch may have.
const std::string kAlphabet = "data.alphabet=62", kLength = "data.length=4";

class LimitsTest : public CommandLineFixture {
 protected:
  ProcessResult train(const std::vector<std::string>& settings, const ProcessOptions& options,
                      const std::string& out = "run") {
    return train_tiny(out, settings, options);
  }
};

// Addresses that the sanitizer takes for itself are not limited.
ProcessOptions limited([[maybe_unused]] int64_t memory_bytes) {
  ProcessOptions options;
#if !defined(__SANITIZE_ADDRESS__)
  options.memory_bytes = memory_bytes;
#endif
  return options;
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_F(LimitsTest, MemoryThatRunsOutEndsTheRunAndIsToldWithStepArrayOpAndPlace) {
  // There is enough at first, and then another process has taken it.
  ProcessOptions options;
  options.on_output = [](pid_t program, const std::string& output) {
    if (output.find(" are free") == std::string::npos) return false;
    const rlimit limit = {rlim_t{900} << 20, rlim_t{900} << 20};
    return ::prlimit(program, RLIMIT_AS, &limit, nullptr) == 0;
  };
  const ProcessResult result =
      train({"train.batch_size=1", "train.steps=800", "train.eval_interval=800",
             "train.eval_batch_size=512", "model.d_ff=65536", "model.d_model=2",
             "model.num_heads=1", "train.threads=1", kAlphabet, kLength},
            options);
  EXPECT_EQ(result.exit_status, 1) << result.output;
  EXPECT_THAT(result.errors,
              HasSubstr("error: step 800: linear: there is not enough memory for f32["));
  EXPECT_THAT(result.errors, HasSubstr(" in use (in blocks.0.feed_forward.up); "));
  EXPECT_THAT(result.errors, EndsWith("; a smaller batch_size or eval_batch_size, or more "
                                      "accumulation_steps, need less memory; "
                                      "the checkpoints in run are kept\n"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/checkpoints/last.safetensors"));
}

TEST_F(LimitsTest, WhatNeedsMoreMemoryThanThereIsIsRefusedBeforeItsFirstStep) {
  const ProcessResult result =
      train({"train.batch_size=524288", kAlphabet, kLength}, limited(int64_t{1} << 30));
  EXPECT_EQ(result.exit_status, 1) << result.output;
  EXPECT_THAT(result.errors, HasSubstr("error: this training needs about "));
  EXPECT_THAT(result.errors, HasSubstr("a smaller train.batch_size or more"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

TEST_F(LimitsTest, AnEvaluationThatNeedsMoreThanThereIsIsRefusedBeforeTheFirstStep) {
  for (const char* key : {"train.eval_batch_size", "train.accumulation_steps"}) {
    // A batch in parts is evaluated whole.
    const std::vector<std::string> settings =
        key == std::string("train.eval_batch_size")
            ? std::vector<std::string>{"train.eval_batch_size=524288", kAlphabet, kLength}
            : std::vector<std::string>{"train.batch_size=524288", "train.accumulation_steps=65536",
                                       kAlphabet, kLength};
    const ProcessResult result = train(settings, limited(int64_t{1} << 30));
    EXPECT_EQ(result.exit_status, 1) << result.output;
    EXPECT_THAT(result.errors,
                testing::MatchesRegex(
                    "error: this training needs about [0-9.]+ GiB of memory, but only [0-9.]+ "
                    "[GM]iB are free: [0-9.]+ GiB for an evaluation; a smaller "
                    "train.eval_batch_size needs less, which is train.batch_size where it is "
                    "0\n"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
  }
}

TEST_F(LimitsTest, ThreadsThatHaveNoCoreAreSaid) {
  const ProcessResult many = train({"train.threads=4096", "train.steps=1"}, {});
  EXPECT_EQ(many.exit_status, 0) << many.errors;
  EXPECT_THAT(unfolded(many.output),
              testing::ContainsRegex("train.threads is 4096, but qkv has [0-9]+ cores? here; more "
                                     "threads than cores take longer, to the same bits\n"));
  const ProcessResult one = train({"train.threads=1", "train.steps=1"}, {}, "one");
  EXPECT_THAT(one.output, testing::Not(HasSubstr("more threads than")));
}

TEST_F(LimitsTest, WhatNeedsMoreMemoryThanThereIsIsNeitherMeasuredNorChecked) {
  NEEDS_VERBS("bench", "gradcheck");
  const std::string batch = "train.batch_size=524288", wide = "model.d_ff=1000000",
                    wider = "model.d_model=256";
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"bench", "tiny.toml", "--set", batch, "--set", kAlphabet, "--set", kLength},
           {"bench", "--shape", "toy", "--set", batch},
           {"gradcheck", "--config", "tiny.toml", "--set", wide, "--set", wider}}) {
    const ProcessResult result = qkv(command, limited(int64_t{1} << 30));
    EXPECT_EQ(result.exit_status, 1) << result.output;
    EXPECT_EQ(result.output, "");
    EXPECT_THAT(result.errors, HasSubstr(command[0] == "bench" ? "error: this training needs about "
                                                               : "error: --config: this check needs"
                                                                 " more than "));
  }
}

TEST_F(LimitsTest, WhereverMemoryEndsTheRunEndsInASentence) {
  int ended = 0, trained = 0;
  for (const int mebibytes : {110, 130, 150, 180, 220, 300, 1000}) {
    const ProcessResult result = train({"train.batch_size=4096", "train.steps=2", "data.length=16"},
                                       limited(int64_t{mebibytes} << 20), absl::StrCat(mebibytes));
    if (result.exit_status == 0) {
      ++trained;
      continue;
    }
    ++ended;
    EXPECT_EQ(result.exit_status, 1) << mebibytes << result.errors;
    EXPECT_THAT(result.errors, testing::StartsWith("error: "));
    EXPECT_THAT(result.errors, HasSubstr("memory"));
  }
  EXPECT_GT(ended, 0);
  EXPECT_GT(trained, 0);
}
TEST_F(LimitsTest, WhatDoesNotFitIsNotExplained) {
  NEEDS_VERBS("explain");
  write_bytes(folder_ / "text", std::string(40000, 'a') + std::string(40000, 'b'));
  const ProcessResult trained =
      train({"data.task=text", "data.path=text", "data.length=3000", "train.steps=1",
             "train.batch_size=1", "model.position=none"},
            {});
  ASSERT_EQ(trained.exit_status, 0) << trained.errors;
  const std::vector<std::string> command = {"explain", "run", "--text", "--prompt",
                                            std::string(3000, 'a')};
  const ProcessResult result = qkv(command, limited(int64_t{1} << 30));
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.errors,
              testing::MatchesRegex("error: all numbers of this model with 1 layer and 2999 tokens "
                                    "take about [0-9.]+ GiB of memory, and [0-9.]+ [GM]iB are "
                                    "available; fewer layers or a shorter --prompt need less\n"));
}

TEST_F(LimitsTest, LayersThatDoNotFitAreNotMade) {
  NEEDS_VERBS("explain");
  ASSERT_EQ(train({"train.steps=1"}, {}).exit_status, 0);
  for (const char* form : {"--text", "--json=a.json", "--out=a.html"}) {
    const ProcessResult result =
        qkv({"explain", "run", form, "--set", "model.num_layers=4096"}, limited(int64_t{1} << 30));
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_EQ(result.output, "");
    EXPECT_THAT(result.errors,
                testing::MatchesRegex("error: all numbers of this model with 4096 layers and 6 "
                                      "tokens take about [0-9.]+ GiB of memory, and [0-9.]+ "
                                      "[GM]iB are available; fewer layers or a shorter --prompt "
                                      "need less\n"));
  }
}

// What a run says of its memory before the first step, and what it takes.

using Settings = std::vector<std::string>;

class MemoryPromiseTest : public CommandLineFixture {
 protected:
  ProcessResult train(const std::string& config, Settings settings) {
    write_bytes(folder_ / "config.toml", config);
    std::filesystem::remove_all(folder_ / "run");
    std::vector<std::string> command = {"train", "config.toml", "--out", "run"};
    settings.insert(settings.begin(), "train.steps=2");
    for (const std::string& setting : settings) {
      command.insert(command.end(), {"--set", setting});
    }
    return qkv(command);
  }

  void expect_kept(const std::string& config, const Settings& settings) {
    const ProcessResult result = train(config, settings);
    ASSERT_EQ(result.exit_status, 0) << result.errors;
    std::smatch said;
    ASSERT_TRUE(std::regex_search(result.output, said,
                                  std::regex("training needs about ([0-9.]+) (MiB|GiB)")))
        << result.output;
    const double promised = std::stod(said[1]) * (said[2] == "GiB" ? 1024 : 1);
    const double used = static_cast<double>(result.peak_bytes - empty_) / (1 << 20);
    EXPECT_GT(promised, 0.7 * used) << testing::PrintToString(settings);
    EXPECT_LT(promised, 1.3 * used) << testing::PrintToString(settings);
  }

  // What a program takes whose model is next to nothing.
  const int64_t empty_ = train(kConfig, {}).peak_bytes;
};

std::string task(const std::string& data, const std::string& model) {
  return "name = \"promise\"\n[data]\n" + data + "\n[model]\n" + model +
         "\n[train]\nbatch_size = 256\n";
}

const std::string kModel = "num_layers = 2\nd_model = 64\nnum_heads = 4\nd_ff = 256";
const std::string kCopy = task("task = \"copy\"\nalphabet = 20\nlength = 16", kModel);

TEST_F(MemoryPromiseTest, IsKeptForEveryKindOfModel) {
  for (const char* kind :
       {"decoder", "encoder_decoder", "mixer=convolution", "mixer=recurrence", "mixer=learned",
        "position=sinusoidal", "position=rotary", "position=alibi", "position=relative",
        "position=none", "norm=post", "norm_kind=rms", "dropout=0.1", "activation=relu",
        "tie_embeddings=true"}) {
    const std::string text = kind;
    expect_kept(kCopy, {"model." + (text.find('=') == std::string::npos ? "kind=" + text : text)});
  }
  for (const char* attention : {"heads=narrow", "projections=shared", "projections=none",
                                "window=4", "num_key_value_heads=2"}) {
    expect_kept(kCopy, {std::string("attention.") + attention});
  }
}

TEST_F(MemoryPromiseTest, IsKeptForEveryWayToTrain) {
  const std::string wide = "model.d_ff=8192", few = "train.batch_size=8";
  for (const Settings& settings :
       std::vector<Settings>{{"train.precision=bf16"},
                             {"train.precision=f64"},
                             {"train.eval_batch_size=2048", few},
                             {"train.eval_batch_size=8"},
                             {"train.batch_size=2048", "train.accumulation_steps=64"},
                             {"train.batch_size=1024", "train.shards=8"},
                             {"train.label_smoothing=0.1"},
                             {few, wide, "model.d_model=256"},
                             {few, wide, "model.d_model=256", "optimizer.kind=sgd"},
                             {few, wide, "model.d_model=256", "train.average=0.9"},
                             {"train.batch_size=8", "data.length=500"}}) {
    expect_kept(kCopy, settings);
  }
}

TEST_F(MemoryPromiseTest, IsKeptForEveryKindOfData) {
  std::string text, lines, questions, classes;
  for (int i = 0; i < 4000; ++i) {
    const std::string word(static_cast<size_t>(1 + i * i % 29), static_cast<char>('a' + i % 26));
    lines += word + "\n";
    text += word + " ";
    absl::StrAppend(&questions, word, "\t", word, word, "\n");
    absl::StrAppend(&classes, i % 7, "\t", word, i, "\n");
  }
  const auto file = [&](const std::string& task_name, const std::string& bytes,
                        const std::string& model, const Settings& settings = {}) {
    write_bytes(folder_ / "data.txt", bytes);
    expect_kept(task("task = \"" + task_name + "\"\npath = \"data.txt\"", model), settings);
  };
  file("text", text, kModel);
  file("lines", lines, kModel);
  file("pairs", questions, kModel);
  file("pairs", questions, kModel + "\nkind = \"encoder_decoder\"");
  // More than there is: a batch has each example once.
  file("pairs", questions.substr(0, questions.rfind('\n', 20000) + 1), kModel,
       {"train.batch_size=100000", "train.eval_batch_size=100000"});
  expect_kept(task("task = \"parity\"\nlength = 4\nvalidation_length = 64",
                   kModel + "\nposition = \"sinusoidal\""),
              {});
  file("classes", classes, kModel + "\nkind = \"classifier\"");
  expect_kept(task("task = \"shapes\"", kModel + "\nkind = \"classifier\"\npatch_size = 4"), {});
}
#endif

TEST_F(LimitsTest, WithoutThreadsItTrainsTheSameBitsAndSaysSo) {
  const std::vector<std::string> three = {"train.threads=3"};
  EXPECT_EQ(train(three, {}, "with").exit_status, 0);
  ProcessOptions options;
  options.stack_bytes = int64_t{100} << 40;  // of 128 TiB of addresses
  const ProcessResult result = train(three, options, "without");
  EXPECT_EQ(result.exit_status, 0) << result.errors;
  EXPECT_THAT(unfolded(result.output),
              HasSubstr("1 threads, into without\nthe system gives only 1 of 3 "
                        "threads (Resource temporarily unavailable); the results "
                        "are the same, but take longer\n"));
  EXPECT_EQ(in("with/checkpoints/last.safetensors"), in("without/checkpoints/last.safetensors"));
}

}  // namespace
}  // namespace qkv
