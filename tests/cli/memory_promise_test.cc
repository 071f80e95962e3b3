// What a run says of its memory before the first step, and what it takes.

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/command_line_fixture.h"

#if !defined(__SANITIZE_ADDRESS__)  // which takes memory of its own
namespace qkv {
namespace {

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

}  // namespace
}  // namespace qkv
#endif
