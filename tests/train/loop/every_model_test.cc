// What is true of the training of a model, whatever it is made of.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/models/every_choice.h"
#include "tests/temporary_folder.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/checkpoint.h"
#include "train/folder/experiment.h"
#include "train/loop/trainer.h"

namespace qkv {
namespace {

ModelOptions small_model() {
  ModelOptions options = {
      .num_layers = 1, .d_model = 16, .num_heads = 2, .d_ff = 32, .dropout = 0.1};
  options.patch_size = 8;
  return options;
}

// Questions of 2 … 5 symbols with an answer of one token, which every kind of model can read.
Config config_of(const ChosenModel& chosen) {
  Config config;
  config.model = chosen.options;
  config.data.task = chosen.has_images ? "shapes" : "parity";
  config.data.length = 5;
  config.data.min_length = 2;
  config.optimizer.learning_rate = 1e-2;
  config.optimizer.warmup_steps = 2;
  config.train.steps = 15;
  config.train.batch_size = 8;
  return config;
}

void make_steps(Trainer& trainer, int count) {
  for (int i = 0; i < count; ++i) ASSERT_TRUE(trainer.step().ok());
}

TEST(EveryModelTest, ARunThatGoesOnEndsWithTheBitsOfOneThatNeverStopped) {
  const TemporaryFolder folder;
  for (const ChosenModel& chosen : every_choice(small_model())) {
    SCOPED_TRACE(chosen.name);
    const Config config = config_of(chosen);
    const std::unique_ptr<Dataset> dataset = *make_dataset(config);
    const auto save = [&](const std::string& name, const Trainer& trainer) {
      const RunState state = {.step = trainer.steps_made(), .unwritten = {}};
      EXPECT_TRUE(save_checkpoint(folder / name, checkpoint_of(config, *dataset, trainer.model(),
                                                               trainer.optimizer(), state))
                      .ok());
    };
    Trainer whole(config, *dataset), first(config, *dataset), second(config, *dataset);
    make_steps(whole, 4);
    make_steps(first, 2);
    save("half", first);
    const absl::StatusOr<Checkpoint> half = load_checkpoint(folder / "half");
    ASSERT_TRUE(half.ok()) << half.status();
    const absl::Status restored =
        restore(folder / "half", *half, second.model(), &second.optimizer());
    ASSERT_TRUE(restored.ok()) << restored;
    make_steps(second, 2);
    save("whole", whole);
    save("second", second);
    EXPECT_TRUE(contents_of(folder / "second") == contents_of(folder / "whole"));
    EXPECT_FALSE(contents_of(folder / "second") == contents_of(folder / "half"));
  }
}

// The loss of each step.
std::vector<double> losses(Config config, Precision precision) {
  config.train.precision = precision;
  const std::unique_ptr<Dataset> dataset = *make_dataset(config);
  Trainer trainer(config, *dataset);
  std::vector<double> all;
  for (int64_t i = 0; i < config.train.steps; ++i) {
    const absl::StatusOr<StepResult> result = trainer.step();
    EXPECT_TRUE(result.ok()) << result.status();
    all.push_back(result.ok() ? result->loss : INFINITY);
  }
  return all;
}

TEST(EveryModelTest, Bf16TrainsAsF32DoesButForItsRounding) {
  for (const ChosenModel& chosen : every_choice(small_model())) {
    SCOPED_TRACE(chosen.name);
    const Config config = config_of(chosen);
    const std::vector<double> f32 = losses(config, Precision::kF32);
    const std::vector<double> bf16 = losses(config, Precision::kBf16);
    EXPECT_NE(bf16, f32);
    double farthest = 0;
    for (size_t i = 0; i < f32.size(); ++i) {
      farthest = std::max(farthest, std::abs(bf16[i] - f32[i]) / f32[i]);
    }
    EXPECT_LT(farthest, 0.05);
    EXPECT_LT(*std::ranges::min_element(bf16), bf16.front());
  }
}

// The loss on unseen letters that were drawn at random, after training on others.
double loss_of_random_text(const std::string& path, bool causal) {
  Config config;
  config.data.task = "text";
  config.data.path = path;
  config.data.length = 16;
  config.model = small_model();
  config.model.dropout = 0;
  config.model.position = Position::kRelative;
  config.model.attention.causal = causal;
  config.optimizer.learning_rate = 1e-2;
  config.train.steps = 250;
  const std::unique_ptr<Dataset> dataset = *make_dataset(config);
  Trainer trainer(config, *dataset);
  make_steps(trainer, static_cast<int>(config.train.steps));
  return evaluate(trainer.model(), *dataset, Split::kValidation, 64)->loss;
}

// What is to be predicted is the next token, and that is one of those that it sees. Of a window of
// 16 tokens the last alone has its answer outside.
TEST(EveryModelTest, ADecoderThatIsNotCausalReadsItsAnswersInsteadOfPredictingThem) {
  const TemporaryFolder folder;
  const std::string path = folder / "random.txt";
  RandomStream random(1);
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "abcd"[random.below(4)];
  write_bytes(path, text);
  EXPECT_GT(loss_of_random_text(path, /*causal=*/true), 0.98 * std::log(4));
  EXPECT_LT(loss_of_random_text(path, /*causal=*/false), 2 * std::log(4) / 16);
}

}  // namespace
}  // namespace qkv
