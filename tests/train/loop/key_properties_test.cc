// What "the runs differ" does not say of a key: by how much, when, and where.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/kernels/parallel.h"
#include "tests/temporary_folder.h"
#include "tests/train/loop/observed_run.h"
#include "train/config/config.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/experiment.h"
#include "train/generate/generate.h"
#include "train/loop/trainer.h"

namespace qkv {
namespace {

constexpr int64_t kSteps = 10;

std::vector<double> losses_of(const ObservedRun& run) {
  std::vector<double> losses;
  for (const Metrics& line : run.metrics) losses.push_back(line.loss.value());
  return losses;
}

// All questions of the training part in every step, and weights that stay: a step differs from
// another by what dropout sets to zero.
Overrides standing_still(const std::string& dropout) {
  return {"data.alphabet=2", "train.batch_size=64", "optimizer.learning_rate=0",
          "model.dropout=" + dropout};
}

TEST(KeyPropertiesTest, EveryStepDropsOtherNumbers) {
  std::vector<double> losses = losses_of(observe_run(kSmallRun, standing_still("0.5")));
  ASSERT_EQ(std::ssize(losses), kSteps);
  std::ranges::sort(losses);
  EXPECT_EQ(std::ranges::adjacent_find(losses), losses.end());
}

TEST(KeyPropertiesTest, WithoutDropoutAStepThatChangesNothingIsMadeAgain) {
  const std::vector<double> losses = losses_of(observe_run(kSmallRun, standing_still("0")));
  EXPECT_EQ(losses, std::vector<double>(kSteps, losses.front()));
}

TEST(KeyPropertiesTest, AnEvaluationDropsNothing) {
  const ObservedRun with = observe_run(kSmallRun, standing_still("0.5"));
  const ObservedRun without = observe_run(kSmallRun, standing_still("0"));
  EXPECT_EQ(with.at(kSteps).val_loss, without.at(kSteps).val_loss);
  EXPECT_EQ(with.samples, without.samples);
}

// Batches, first weights and dropout, each for itself.
TEST(KeyPropertiesTest, AllThatIsRandomComesFromTheSeed) {
  const Config one = parsed(kSmallRun, {"model.dropout=0.5"});
  const Config two = parsed(kSmallRun, {"model.dropout=0.5", "seed=2"});
  const std::unique_ptr<Dataset> dataset = *make_dataset(one), other = *make_dataset(two);
  EXPECT_NE(dataset->training_batch(0, 4).inputs[0].to_vector(),
            other->training_batch(0, 4).inputs[0].to_vector());
  Trainer first(one, *dataset), second(two, *dataset);
  const auto from = parameters(first.model()), to = parameters(second.model());
  bool any_differs = false;
  for (size_t i = 0; i < from.size(); ++i) {
    const Array source = from[i].tensor.array();
    Array target = to[i].tensor.array();
    any_differs = any_differs || source.to_vector() != target.to_vector();
    std::memcpy(target.mutable_raw(), source.raw(), source.bytes());
  }
  EXPECT_TRUE(any_differs);
  EXPECT_NE(first.step()->loss, second.step()->loss);
}

constexpr int64_t kDecaySteps = 3;

// The learning rate of step k of n, after w steps of warm-up.
double learning_rate(Schedule schedule, double highest, double lowest, double k, double w) {
  if (k <= w) return highest * k / (w + 1);
  const double last = static_cast<double>(kSteps), fallen = (k - w - 1) / (last - w - 1);
  switch (schedule) {
    case Schedule::kConstant:
      return highest;
    case Schedule::kLinear:
      return highest - (highest - lowest) * fallen;
    case Schedule::kCosine:
      return lowest + (highest - lowest) * (1 + std::cos(std::numbers::pi * fallen)) / 2;
    case Schedule::kStable:
      return lowest + (highest - lowest) * std::min(1.0, (last - k) / kDecaySteps);
  }
  return NAN;
}

TEST(KeyPropertiesTest, TheLearningRateRisesInTheWarmUpAndIsTheLowestAtTheLastStep) {
  for (const Named<Schedule>& schedule : kNames<Schedule>) {
    for (const int64_t warmup : {0, 3}) {
      SCOPED_TRACE(absl::StrCat(schedule.name, " ", warmup));
      Overrides overrides = {absl::StrCat("optimizer.schedule=", schedule.name),
                             absl::StrCat("optimizer.warmup_steps=", warmup)};
      const bool falls = schedule.value != Schedule::kConstant;
      if (falls) overrides.push_back("optimizer.min_learning_rate=1e-3");
      if (schedule.value == Schedule::kStable) {
        overrides.push_back(absl::StrCat("optimizer.decay_steps=", kDecaySteps));
      }
      const ObservedRun run = observe_run(kSmallRun, overrides);
      for (int64_t k = 1; k <= kSteps; ++k) {
        EXPECT_DOUBLE_EQ(run.at(k).learning_rate.value(),
                         learning_rate(schedule.value, 1e-2, 1e-3, static_cast<double>(k),
                                       static_cast<double>(warmup)))
            << "step " << k;
      }
      EXPECT_DOUBLE_EQ(run.at(warmup + 1).learning_rate.value(), 1e-2);
      EXPECT_DOUBLE_EQ(run.at(kSteps).learning_rate.value(), falls ? 1e-3 : 1e-2);
    }
  }
}

double distance(const Weights& a, const Weights& b) {
  double sum = 0;
  for (const auto& [name, numbers] : a) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      sum += std::pow(numbers[i] - b.at(name)[i], 2);
    }
  }
  return std::sqrt(sum);
}

TEST(KeyPropertiesTest, TheWeightsMoveByTheLearningRateTimesTheClippedGradient) {
  for (const double clip : {0.0, 0.1, 100.0}) {
    const ObservedRun run =
        observe_run(kSmallRun, {"optimizer.kind=sgd", "optimizer.weight_decay=0",
                                absl::StrCat("optimizer.grad_clip=", clip),
                                "optimizer.warmup_steps=4", "train.checkpoint_interval=1"});
    for (int64_t k = 2; k <= kSteps; ++k) {
      const double norm = run.at(k).grad_norm.value();
      EXPECT_GT(norm, 0.1);
      const double clipped = clip == 0 ? norm : std::min(norm, clip * norm / (norm + 1e-6));
      // of a few hundred numbers below 1, each with an error of 2^-53
      EXPECT_NEAR(distance(run.weights_after(k), run.weights_after(k - 1)),
                  run.at(k).learning_rate.value() * clipped, 1e-14)
          << "clip " << clip << ", step " << k;
    }
  }
}

TEST(KeyPropertiesTest, AnEvaluationSmoothsNoLabels) {
  const Overrides still = {"optimizer.learning_rate=0"};
  const Overrides smoothed = {"optimizer.learning_rate=0", "train.label_smoothing=0.3"};
  EXPECT_EQ(observe_run(kSmallRun, still).at(kSteps).val_loss,
            observe_run(kSmallRun, smoothed).at(kSteps).val_loss);
}

TEST(KeyPropertiesTest, WhatIsWrittenWhen) {
  const ObservedRun run = observe_run(
      kSmallRun, {"train.log_interval=3", "train.eval_interval=4", "train.checkpoint_interval=5"});
  EXPECT_EQ(run.logged(), (std::set<int64_t>{3, 4, 6, 8, 9, 10}));
  EXPECT_EQ(run.evaluated(), (std::set<int64_t>{4, 8, 10}));
  EXPECT_EQ(run.names_of_checkpoints(),
            (std::set<std::string>{"best.safetensors", "last.safetensors",
                                   "step-000005.safetensors", "step-000010.safetensors"}));
  EXPECT_EQ(run.weights_after(10), run.weights());
  EXPECT_NE(run.weights_after(5), run.weights());
}

TEST(KeyPropertiesTest, ASmallModelKeepsAFilmOfEightCheckpoints) {
  const auto names = [](const Overrides& overrides) {
    return observe_run(kSmallRun, overrides).names_of_checkpoints();
  };
  const std::set<std::string> two = {"best.safetensors", "last.safetensors"};
  std::set<std::string> film = two;
  for (int step = 2; step <= 16; step += 2) {
    film.insert(absl::StrFormat("step-%06d.safetensors", step));
  }
  const Overrides by_default = {"train.steps=16", "train.checkpoint_interval=-1"};
  EXPECT_EQ(names(by_default), film);
  EXPECT_EQ(names({"train.steps=16", "train.checkpoint_interval=0"}), two);
  Overrides large = by_default;
  large.emplace_back("model.d_ff=16000");  // 2 * 8 * 16,000 = 256,000 parameters
  EXPECT_EQ(names(large), two);
}

// Speed times time is what was read: 4 rows of 8 tokens a step.
void expect_tokens_from_line_to_line(const ObservedRun& run, int64_t steps) {
  double before = 0;
  for (const Metrics& line : run.metrics) {
    const double seconds = line.elapsed_seconds.value() - before;
    before = line.elapsed_seconds.value();
    EXPECT_NEAR(line.tokens_per_second.value() * seconds, static_cast<double>(steps * 4 * 8), 1e-6)
        << line.step;
  }
}

TEST(KeyPropertiesTest, TokensAreCountedFromLineToLine) {
  expect_tokens_from_line_to_line(
      observe_run(kSmallRun, {"train.log_interval=2", "train.eval_interval=10"}), 2);
}

TEST(KeyPropertiesTest, ARunThatGoesOnFromACheckpointEndsAsItDidAndCountsItsTime) {
  const Overrides overrides = {"train.checkpoint_interval=4", "model.dropout=0.1"};
  const ObservedRun whole = observe_run(kSmallRun, overrides);
  const ObservedRun again =
      observe_run(kSmallRun, overrides, /*again_after=*/4, {"train.threads=2"});
  EXPECT_EQ(again.weights(), whole.weights());
  EXPECT_EQ(again.samples, whole.samples);
  EXPECT_EQ(again.logged(), whole.logged());
  EXPECT_EQ(again.evaluated(), whole.evaluated());
  EXPECT_EQ(losses_of(again), losses_of(whole));
  expect_tokens_from_line_to_line(again, 1);
}

TEST(KeyPropertiesTest, AnEvaluationTellsWhatIsRightOfBothParts) {
  const Overrides overrides = {"data.alphabet=2", "data.train_fraction=0.5",
                               "optimizer.learning_rate=3e-2", "train.steps=60",
                               "train.eval_interval=60"};
  const ObservedRun run = observe_run(kSmallRun, overrides);
  const Config config = parsed(kSmallRun, overrides);
  const std::unique_ptr<Dataset> dataset = *make_dataset(config);
  Trainer trainer(config, *dataset);
  for (int64_t i = 0; i < config.train.steps; ++i) ASSERT_TRUE(trainer.step().ok());
  const Evaluation validation = *evaluate(trainer.model(), *dataset, Split::kValidation, 4);
  const Evaluation training = *evaluate(trainer.model(), *dataset, Split::kTraining, 4);
  const Metrics& line = run.at(config.train.steps);
  EXPECT_EQ(line.val_loss, validation.loss);
  EXPECT_EQ(line.val_token_accuracy, validation.token_accuracy);
  EXPECT_EQ(line.val_sequence_accuracy, validation.sequence_accuracy);
  EXPECT_EQ(line.train_sequence_accuracy, training.sequence_accuracy);
  for (int64_t i = 0; i < 3; ++i) {
    const Example example = dataset->validation_example(i);
    const std::vector<int64_t> likeliest =
        generate(trainer.model(), example.prompt, std::ssize(example.answer), {.temperature = 0})
            .value();
    EXPECT_NE(
        run.samples.find(absl::StrCat(dataset->vocabulary().decode(example.prompt), "  expected ",
                                      dataset->vocabulary().decode(example.answer), "  answered ",
                                      dataset->vocabulary().decode(likeliest))),
        std::string::npos)
        << run.samples;
  }
  // so that none is taken for another
  EXPECT_NE(validation.token_accuracy, validation.sequence_accuracy);
  EXPECT_NE(validation.sequence_accuracy, training.sequence_accuracy);
}

// The mean of -log p over the tokens of the answers alone, and what of them is most likely: the
// line end, which a model learns, too, is counted for itself.
TEST(KeyPropertiesTest, TheEndOfAnAnswerIsCountedApart) {
  const TemporaryFolder folder(/*in_memory=*/true);
  write_data(folder.path(), 1);
  for (const auto& [kind, first_token] : {std::pair("decoder", true), {"encoder_decoder", false}}) {
    SCOPED_TRACE(kind);
    Overrides overrides = overrides_of("pairs", folder.path());
    for (const char* more : {"data.answer_key=back", "optimizer.learning_rate=3e-2",
                             "train.steps=60", "train.eval_interval=60"}) {
      overrides.push_back(more);
    }
    overrides.push_back(absl::StrCat("model.kind=", kind));
    const Config config = parsed(kSmallRun, overrides);
    const std::unique_ptr<Dataset> dataset = *make_dataset(config);
    Trainer trainer(config, *dataset);
    for (int64_t i = 0; i < config.train.steps; ++i) ASSERT_TRUE(trainer.step().ok());

    const Batch batch = dataset->validation_batch(0, dataset->validation_size());
    const std::vector<Tensor> inputs(batch.inputs.begin(), batch.inputs.end());
    ForwardContext context;
    const Tensor logits = trainer.model()(inputs, context);
    const std::vector<double> all = logits.to_vector();
    const int64_t tokens = logits.dim(-1);
    const auto row_at = [&](int64_t example, int64_t place) {
      return std::span(all).subspan(static_cast<size_t>((example * logits.dim(1) + place) * tokens),
                                    static_cast<size_t>(tokens));
    };
    double loss = 0, right = 0, right_ends = 0, right_answers = 0, counted = 0, own_tokens = 0;
    for (int64_t e = 0; e < dataset->validation_size(); ++e) {
      const Example example = dataset->validation_example(e);
      own_tokens += static_cast<double>(std::ssize(example.answer) - 1);
      const int64_t begin = first_token ? std::ssize(example.prompt) - 1 : 0;
      bool all_right = true;
      for (int64_t t = 0; t < std::ssize(example.answer); ++t) {
        const std::span<const double> row = row_at(e, begin + t);
        const int64_t target = example.answer[static_cast<size_t>(t)];
        const bool is_right = std::ranges::max_element(row) - row.begin() == target;
        all_right = all_right && is_right;
        if (dataset->vocabulary().decode({{target}}) == "\n") {
          right_ends += is_right;
          continue;
        }
        double sum = 0;
        for (const double logit : row) sum += std::exp(logit);
        loss += std::log(sum) - row[static_cast<size_t>(target)];
        right += is_right;
        counted += 1;
      }
      right_answers += all_right;
    }
    const auto examples = static_cast<double>(dataset->validation_size());
    ASSERT_EQ(counted, own_tokens);
    const Metrics line = observe_run(kSmallRun, overrides).at(config.train.steps);
    EXPECT_NEAR(line.val_loss.value(), loss / counted, 1e-12);
    EXPECT_EQ(line.val_token_accuracy, right / counted);
    EXPECT_EQ(line.val_sequence_accuracy, right_answers / examples);
    EXPECT_EQ(line.val_end_accuracy, right_ends / examples);
    EXPECT_LT(right / counted, right_ends / examples);  // so that none is taken for the other
  }
}

TEST(KeyPropertiesTest, AsManyThreadsComputeAsAreAskedFor) {
  for (const int threads : {2, 1}) {
    observe_run(kSmallRun, {absl::StrCat("train.threads=", threads)});
    EXPECT_EQ(kernels::num_threads(), threads);
  }
}

}  // namespace
}  // namespace qkv
