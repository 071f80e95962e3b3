#include "apps/bench/bench.h"

#include <gtest/gtest.h>

#include <memory>

#include "apps/bench/bench_shapes.h"

namespace qkv {
namespace {

// Sequences of no tokens: nothing is multiplied.
class NoTokens final : public Dataset {
 public:
  explicit NoTokens(std::unique_ptr<Dataset> data)
      : Dataset(data->vocabulary(), data->form()), data_(std::move(data)) {}

  DataShape shape() const override { return data_->shape(); }
  bool has_answers() const override { return data_->has_answers(); }
  Batch training_batch(int64_t index, int64_t /*batch_size*/) const override {
    Batch batch = data_->training_batch(index, 1);
    for (Array& input : batch.inputs) input = Array(input.shape().with(1, 0), input.dtype());
    batch.targets = Array(batch.targets.shape().with(1, 0), batch.targets.dtype());
    return batch;
  }
  int64_t validation_size() const override { return 0; }
  Batch validation_batch(int64_t first, int64_t count) const override {
    return data_->validation_batch(first, count);
  }
  Example validation_example(int64_t index) const override {
    return data_->validation_example(index);
  }

 private:
  std::unique_ptr<Dataset> data_;
};

TEST(MeasureStepsTest, AStepThatMultipliesNothingHasNoFloor) {
  const BenchShape& toy = bench_shapes()[0];
  const auto measure = [&](const Dataset& data) { return measure_steps(config_of(toy), data, 1); };
  const absl::StatusOr<StepMeasurement> without = measure(NoTokens(random_data(toy, 1)));
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_GT(without->step_ms.median, 0);
  EXPECT_FALSE(without->floor.has_value());
  EXPECT_EQ(floor_text(without->floor),
            "floor  none: a step of this model has no matrix products\n");

  const absl::StatusOr<StepMeasurement> with = measure(*random_data(toy, 1));
  ASSERT_TRUE(with.ok()) << with.status();
  ASSERT_TRUE(with->floor.has_value());
  EXPECT_GT(with->floor->ms.median, 0);
  EXPECT_GT(with->floor->cut_ms, 0);
  EXPECT_EQ(with->floor->ratio, with->step_ms.median / with->floor->ms.median);
}

TEST(FloorTextTest, HasTimesSpeedAndRatio) {
  EXPECT_EQ(floor_text(FloorMeasurement{.ms = {.lower = 1.5, .median = 2, .upper = 2.5},
                                        .gflops = 12.34,
                                        .ratio = 3,
                                        .cut_ms = 2.5}),
            "floor      2.000 ms (quartiles 1.500 and 2.500): the matrix "
            "products alone\n            12.3 GFLOP/s\n"
            "cut        2.500 ms: the same products in the pieces that a step computes\n"
            "ratio       3.00\n");
}

}  // namespace
}  // namespace qkv
