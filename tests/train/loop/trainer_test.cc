#include "train/loop/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "data/tasks/tasks.h"
#include "framework/autograd/backward.h"
#include "framework/core/memory/storage.h"
#include "framework/kernels/parallel.h"
#include "framework/kernels/product/matmul.h"
#include "framework/ops/ops.h"
#include "train/evaluate/evaluate.h"
#include "train/generate/generate.h"
#include "train/watch/finite.h"

namespace qkv {
namespace {

Config tiny() {
  Config config;
  config.data.task = "reverse";
  config.data.alphabet = 4;
  config.data.length = 3;
  config.model.num_layers = 1;
  config.model.d_model = 16;
  config.model.num_heads = 2;
  config.model.d_ff = 32;
  config.optimizer.learning_rate = 1e-2;
  config.train.steps = 60;
  config.train.batch_size = 16;
  return config;
}

std::unique_ptr<Dataset> make_data(const Config& config) {
  return *make_dataset(config.data, config.seed);
}

std::vector<double> train(const Config& config, int64_t steps) {
  const auto dataset = make_data(config);
  Trainer trainer(config, *dataset);
  std::vector<double> losses;
  for (int64_t i = 0; i < steps; ++i) losses.push_back(trainer.step()->loss);
  return losses;
}

TEST(TrainerTest, TheSameSeedGivesTheSameBitsAndAnotherDoesNot) {
  std::vector<std::vector<double>> seen;
  for (const Precision precision : {Precision::kF32, Precision::kF64, Precision::kBf16}) {
    Config config = tiny();
    config.model.dropout = 0.1;
    config.train.precision = precision;
    const std::vector<double> losses = train(config, 5);
    EXPECT_EQ(losses, train(config, 5)) << name_of(precision);
    EXPECT_THAT(seen, testing::Not(testing::Contains(losses))) << name_of(precision);
    seen.push_back(losses);
    config.seed = 2;
    EXPECT_NE(losses, train(config, 5)) << name_of(precision);
  }
}

TEST(TrainerTest, AccumulatedPiecesEqualTheLargeBatchWithIgnoredTargets) {
  Config config = tiny();
  config.train.precision = Precision::kF64;
  const auto dataset = make_data(config);
  const Trainer trainer(config, *dataset);
  const auto all = parameters(trainer.model());
  Batch batch = dataset->training_batch(0, 7);
  for (int64_t i = 0; i < 9; ++i) batch.targets.mutable_data<int64_t>()[i] = kIgnoredTarget;
  ForwardContext context;
  const BatchGradients whole = accumulate_gradients(trainer.model(), all, batch, 1, 0.1, context);
  for (const int64_t pieces : {2, 3, 7}) {
    const BatchGradients sum =
        accumulate_gradients(trainer.model(), all, batch, pieces, 0.1, context);
    EXPECT_NEAR(sum.loss, whole.loss, 1e-14);
    for (size_t i = 0; i < all.size(); ++i) {
      const auto a = sum.gradients[i].to_vector(), b = whole.gradients[i].to_vector();
      for (size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-14) << all[i].name;
    }
  }
}

Config sharded(int64_t batch_size, int64_t shards) {
  Config config = tiny();
  config.train.batch_size = batch_size;
  config.train.shards = shards;
  config.model.dropout = 0.5;
  return config;
}

// Four gradients that are made one by one, and added by hand.
TEST(TrainerTest, ShardsAreAddedAlongTheirTree) {
  const Config config = sharded(8, 4);
  const auto dataset = make_data(config);
  const Trainer trainer(config, *dataset);
  const auto all = parameters(trainer.model());
  const Batch batch = trainer.next_batch();
  const ShardedBatch shards(config, trainer.model(), all, batch, /*step=*/0);
  std::vector<BatchGradients> parts;
  for (int64_t shard = 0; shard < 4; ++shard) {
    parts.push_back(shards.differentiate({shard, shard + 1}));
  }
  const BatchGradients whole = trainer.differentiate(batch);
  EXPECT_EQ(whole.loss, (parts[0].loss + parts[1].loss) + (parts[2].loss + parts[3].loss));
  for (size_t i = 0; i < all.size(); ++i) {
    const auto part = [&](size_t shard) { return parts[shard].gradients[i]; };
    const Tensor by_hand = (part(0) + part(1)) + (part(2) + part(3));
    EXPECT_EQ(whole.gradients[i].to_vector(), by_hand.to_vector()) << all[i].name;
  }
}

// Whatever a dropped element is in one shard, it is another in the next one.
TEST(TrainerTest, AShardDropsElementsOfItsOwn) {
  const Config config = sharded(2, 2);
  const auto dataset = make_data(config);
  const Trainer trainer(config, *dataset);
  const auto all = parameters(trainer.model());
  Batch batch = trainer.next_batch();
  for (Array* array : {&batch.inputs[0], &batch.targets}) {
    int64_t* numbers = array->mutable_data<int64_t>();
    std::copy_n(numbers, array->size() / 2, numbers + array->size() / 2);
  }
  const auto loss = [&](int64_t shard, int64_t step) {
    return ShardedBatch(config, trainer.model(), all, batch, step)
        .differentiate({shard, shard + 1})
        .loss;
  };
  EXPECT_EQ(loss(0, 0), loss(0, 0));
  EXPECT_NE(loss(0, 0), loss(1, 0));
  EXPECT_NE(loss(0, 0), loss(0, 1));
}

TEST(TrainerTest, ALossThatIsNotFiniteStopsBeforeTheUpdateAndNamesTheOp) {
  Config config = tiny();
  const auto dataset = make_data(config);
  Trainer trainer(config, *dataset);
  ASSERT_TRUE(trainer.step().ok());
  const auto all = parameters(trainer.model());
  for (const NamedParameter& p : all) {
    if (p.name != "blocks.0.feed_forward.up.weight") continue;
    Array weight = p.tensor.array();
    weight.mutable_data<float>()[0] = INFINITY;
  }
  const std::vector<double> before = all[0].tensor.to_vector();
  const absl::Status status = trainer.step().status();
  EXPECT_EQ(status.message().substr(0, 8), "step 2: ");
  EXPECT_NE(
      status.message().find(
          "the first op that made such a number is linear (forward, in blocks.0.feed_forward.up)"),
      absl::string_view::npos)
      << status.message();
  EXPECT_EQ(before, all[0].tensor.to_vector());
  EXPECT_EQ(trainer.steps_made(), 1);
}

// Two gradients of 3e38 are finite, and their sum is not.
TEST(TrainerTest, ASumOfGradientsThatIsNotFiniteIsNamed) {
  const Tensor x = parameter(Array::full({2}, DType::f32, -2));
  const Tensor y = exp(x);
  const Tensor loss = sum(scale(y, 3e38) + scale(y, 3e38) * 0.5);
  const FiniteObserver observer;
  backward(loss);
  EXPECT_EQ(observer.first(), "a sum of gradients (backward)");
}

// Zeros times large weights are zeros; their gradient is too large for f32.
TEST(TrainerTest, AGradientThatIsNotFiniteStopsBeforeTheUpdateThoughTheLossIs) {
  Config config = tiny();
  config.model.tie_embeddings = false;
  const auto dataset = make_data(config);
  Trainer trainer(config, *dataset);
  const auto all = parameters(trainer.model());
  const auto fill = [&](const std::string& name, float value) {
    for (const NamedParameter& p : all) {
      if (p.name != name) continue;
      Array array = p.tensor.array();
      float* weight = array.mutable_data<float>();
      for (int64_t i = 0; i < array.size(); ++i) weight[i] = i % 3 == 0 ? value : -value;
    }
  };
  fill("blocks.0.feed_forward.up.weight", 0);
  fill("blocks.0.feed_forward.down.weight", 3e38F);
  fill("head.weight", 10);
  const std::vector<double> before = all[0].tensor.to_vector();
  const std::string message(trainer.step().status().message());
  EXPECT_THAT(message, testing::StartsWith("step 1: the gradient's norm is "));
  EXPECT_THAT(message, testing::HasSubstr("in blocks.0.feed_forward.down)"));
  EXPECT_EQ(before, all[0].tensor.to_vector());
  EXPECT_EQ(trainer.steps_made(), 0);
}

TEST(TrainerTest, WhatMayHelpARunThatBlowsUpDependsOnWhatMovedItsWeights) {
  using testing::HasSubstr;
  using testing::Not;
  Config config = tiny();
  const auto dataset = make_data(config);
  Trainer trainer(config, *dataset);
  for (const NamedParameter& p : parameters(trainer.model())) {
    Array weight = p.tensor.array();
    weight.mutable_data<float>()[0] = NAN;
  }
  const std::string first(trainer.step().status().message());
  EXPECT_THAT(first,
              HasSubstr("so the learning_rate is not the cause; train.precision = \"f64\" shows"));
  EXPECT_THAT(first, Not(HasSubstr("may help")));

  EXPECT_EQ(advice_for_blow_up(config, 1), "A lower learning_rate or more warmup_steps may help");
  config.optimizer.weight_decay = 1000;  // times 0.01: 10
  EXPECT_THAT(advice_for_blow_up(config, 1),
              HasSubstr("A lower learning_rate or weight_decay may help"));
  config.optimizer.learning_rate = 0;
  config.train.precision = Precision::kF64;
  EXPECT_EQ(advice_for_blow_up(config, 1),
            "The weights are still the initial ones, so the learning_rate is not the cause");
}

TEST(TrainerTest, AStepInItsSteadyStateAsksForNoMemoryAndCreatesNoPrimitive) {
  for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
    SCOPED_TRACE(name_of(precision));
    Config config = tiny();
    config.model.dropout = 0.1;
    config.train.precision = precision;
    const auto dataset = make_data(config);
    Trainer trainer(config, *dataset);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(trainer.step().ok());
    const AllocatorStatistics before = allocator_statistics();
    const int64_t primitives = kernels::primitives_created();
    for (int i = 5; i < 10; ++i) ASSERT_TRUE(trainer.step().ok());
    const AllocatorStatistics after = allocator_statistics();
    EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
#if !defined(__SANITIZE_ADDRESS__)  // there no memory is kept, so that the sanitizer sees its end
    EXPECT_EQ(after.system_calls, before.system_calls);
#endif
    EXPECT_EQ(kernels::primitives_created(), primitives);
  }
}

TEST(EvaluateTest, NeverTellsOfMoreExamplesThanThereAre) {
  const Config config = tiny();
  const auto dataset = make_data(config);
  const Trainer trainer(config, *dataset);
  const int64_t examples = dataset->validation_size();
  const auto last_told = [&](Split split, int64_t batch_size) {
    std::string last;
    const auto tell = [&](const std::string& what) { last = what; };
    EXPECT_TRUE(evaluate(trainer.model(), *dataset, split, batch_size, {}, tell).ok());
    return last;
  };
  EXPECT_EQ(last_told(Split::kValidation, 2 * examples),
            absl::StrCat("evaluated ", examples, " of ", examples, " examples"));
  EXPECT_EQ(last_told(Split::kTraining, 2 * examples),
            absl::StrCat("evaluated ", 2 * examples, " of ", 2 * examples, " examples"));
}

// Another data set, and which batches of training it was asked for.
class AskedDataset final : public Dataset {
 public:
  explicit AskedDataset(const Dataset& inner)
      : Dataset(inner.vocabulary(), inner.form()), inner_(inner) {}
  DataShape shape() const override { return inner_.shape(); }
  bool has_answers() const override { return inner_.has_answers(); }
  Batch training_batch(int64_t index, int64_t batch_size) const override {
    asked.push_back(index);
    return inner_.training_batch(index, batch_size);
  }
  int64_t validation_size() const override { return inner_.validation_size(); }
  Batch validation_batch(int64_t first, int64_t count) const override {
    return inner_.validation_batch(first, count);
  }
  Example validation_example(int64_t index) const override {
    return inner_.validation_example(index);
  }

  mutable std::vector<int64_t> asked;

 private:
  const Dataset& inner_;
};

TEST(EvaluateTest, OfTrainingTakesBatchAfterBatchUntilItHasAsManyExamplesAsValidation) {
  Config config = tiny();
  config.data.length = 4;
  config.data.validation_examples = 5;
  const auto dataset = make_data(config);
  const AskedDataset asked(*dataset);
  const Trainer trainer(config, *dataset);
  const Evaluation evaluation = *evaluate(trainer.model(), asked, Split::kTraining, 2);
  EXPECT_EQ(asked.asked, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(evaluation.sequences, 6);
}

// Beyond max_length, too, where the window slides.
TEST(GenerateTest, TheCacheDoesNotChangeTheText) {
  Config config = tiny();
  config.train.precision = Precision::kF64;
  const auto dataset = make_data(config);
  Trainer trainer(config, *dataset);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(trainer.step().ok());
  const int64_t count = 3 * trainer.model().data().max_length;
  for (const uint64_t seed : {1, 2, 3}) {
    std::vector<int64_t> written;
    RandomStream random = RandomStream(seed).derive("generation");
    for (int64_t i = 0; i < count; ++i) {
      written.push_back(sample_next(trainer.model(), {0, 1}, written, {.seed = seed}, random));
    }
    EXPECT_EQ(generate(trainer.model(), {0, 1}, count, {.seed = seed}).value(), written);
  }
}

TEST(GenerateTest, SamplingFollowsItsOptions) {
  const Config config = tiny();
  const auto dataset = make_data(config);
  const Trainer trainer(config, *dataset);
  const std::vector<int64_t> prompt = {0, 1};
  const auto sample = [&](SamplingOptions options) {
    return generate(trainer.model(), prompt, 30, options).value();
  };
  EXPECT_EQ(sample({.seed = 1}), sample({.seed = 1}));
  EXPECT_NE(sample({.seed = 1}), sample({.seed = 2}));
  const auto greedy = sample({.temperature = 0});
  EXPECT_EQ(sample({.top_k = 1}), greedy);
  EXPECT_EQ(sample({.top_p = 1e-9}), greedy);
  EXPECT_EQ(sample({.temperature = 1e-6}), greedy);
}

}  // namespace
}  // namespace qkv
