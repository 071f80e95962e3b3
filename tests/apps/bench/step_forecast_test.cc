#include "train/loop/step_forecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "apps/bench/bench_shapes.h"
#include "framework/core/memory/storage.h"
#include "train/folder/experiment.h"
#include "train/loop/trainer.h"

namespace qkv {
namespace {

constexpr uint64_t kPlenty = uint64_t{1} << 50;
constexpr double kThreadsAndKernels = 2 << 20;  // which are no arrays

// With what is let go and not given back.
uint64_t measured_peak(const Config& config, const Dataset& dataset) {
  release_cached_memory();
  const uint64_t before = allocator_statistics().bytes_in_use;
  Trainer trainer(config, dataset);
  reset_peak_bytes_in_use();
  EXPECT_TRUE(trainer.step().ok());
  EXPECT_TRUE(trainer.step().ok());
  const AllocatorStatistics after = allocator_statistics();
  return std::max(after.peak_bytes_in_use, after.bytes_in_use + after.bytes_cached) - before;
}

TEST(StepForecastTest, MemoryIsForeseenForEveryShapeOfTheBench) {
  for (const BenchShape& shape : bench_shapes()) {
    const auto dataset = random_data(shape, 1);
    const Config config = config_of(shape);
    const auto foreseen = static_cast<double>(foresee_step(config, *dataset, kPlenty).total());
    const auto measured = static_cast<double>(measured_peak(config, *dataset));
    EXPECT_GT(foreseen, 0.8 * measured) << shape.name;
    EXPECT_LT(foreseen - kThreadsAndKernels, 1.4 * measured) << shape.name;
  }
}

TEST(StepForecastTest, WhatMuonMakesOfAMatrixIsForeseen) {
  const BenchShape& shape = bench_shapes()[0];
  const auto dataset = random_data(shape, 1);
  Config config = config_of(shape);
  config.model.d_model = config.model.d_ff = 512;
  config.train.batch_size = 1;
  const auto difference = [&](const auto& memory) {
    config.optimizer.kind = OptimizerKind::kMuon;
    const auto muon = static_cast<double>(memory());
    config.optimizer.kind = OptimizerKind::kAdamW;
    return muon - static_cast<double>(memory());
  };
  const double foreseen =
      difference([&] { return foresee_step(config, *dataset, kPlenty).total(); });
  const double measured = difference([&] { return measured_peak(config, *dataset); });
  EXPECT_GT(measured, 4 * 512 * 512 * 4);
  EXPECT_GT(foreseen, 0.8 * measured);
  EXPECT_LT(foreseen, 1.4 * measured);
}

TEST(StepForecastTest, PartsOfABatchNeedLessAndMultiplyTheSame) {
  const BenchShape& shape = bench_shapes()[0];
  const auto dataset = random_data(shape, 1);
  Config config = config_of(shape);
  const StepForecast whole = foresee_step(config, *dataset, kPlenty);
  config.train.accumulation_steps = 8;
  const StepForecast parts = foresee_step(config, *dataset, kPlenty);
  EXPECT_LT(parts.batch, whole.batch / 2);
  EXPECT_GT(parts.matrices, 0);
  EXPECT_GT(whole.matrices, 2 * parts.matrices);
  EXPECT_DOUBLE_EQ(parts.flops, whole.flops);
  config.train.batch_size *= 64;  // so many that they are not all tried
  EXPECT_NEAR(foresee_step(config, *dataset, kPlenty).flops, 64 * whole.flops, whole.flops * 1e-6);
}

TEST(StepForecastTest, WhatIsTooLargeIsRefusedBeforeItTakesMemory) {
  const BenchShape& shape = bench_shapes()[0];
  const auto dataset = random_data(shape, 1);
  Config config = config_of(shape);
  const StepForecast fits = foresee_step(config, *dataset, kPlenty);
  EXPECT_TRUE(check_memory(fits, fits.total()).ok());
  const absl::Status batch = check_memory(fits, fits.total() - 1);
  EXPECT_EQ(batch.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(batch.message()), testing::HasSubstr("train.batch_size"));
  config.model.d_model = 65536;
  config.model.d_ff = 4 * 65536;
  const StepForecast large = foresee_step(config, *dataset, kPlenty >> 20);
  EXPECT_FALSE(large.is_whole);
  EXPECT_THAT(std::string(check_memory(large, kPlenty >> 20).message()),
              testing::HasSubstr("model.d_model"));
}

TEST(ModelSummaryTest, TellsLayersThatAreAlikeOnceAndCountsAll) {
  const BenchShape& shape = bench_shapes()[0];
  const auto dataset = random_data(shape, 1);
  const Config config = config_of(shape);
  const std::string text = model_summary(config, *dataset, foresee_step(config, *dataset, kPlenty));
  EXPECT_THAT(text, testing::HasSubstr("blocks.*.attention.query"));
  EXPECT_THAT(text, testing::HasSubstr(std::to_string(count_parameters(config, dataset->shape()))));
  EXPECT_THAT(text, testing::HasSubstr("GFLOP of matrix products, about "));
}

}  // namespace
}  // namespace qkv
