// How long something takes is not asserted: only that it is measured.

#include "apps/bench/bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "apps/bench/bench_shapes.h"
#include "framework/core/error.h"
#include "models/model.h"
#include "tests/process.h"

namespace qkv {
namespace {

ProcessResult qkv_bench(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {QKV_BINARY, "bench"});
  return run_process(arguments);
}

// The row of numbers of a shape.
nlohmann::json measured(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "--shape");
  arguments.insert(arguments.end(), {"--json", "-"});
  const ProcessResult result = qkv_bench(arguments);
  EXPECT_EQ(result.exit_status, 0) << result.errors;
  return nlohmann::json::parse(result.output);
}

void expect_flops(const nlohmann::json& row, double flops) {
  EXPECT_NEAR(double(row["gflops"]) * double(row["ms_per_step"]) * 1e6, flops, 1);
  EXPECT_NEAR(double(row["floor_gflops"]) * double(row["floor_ms"]) * 1e6, flops, 1);
}

// Linear maps: three products each of 2 B T (C (3 C + C) + 2 C F) for each layer and 2 B T C V of
// the head; attention: three times 2 products of 2 B T² C for each layer.
TEST(BenchTest, AShapeGivesARowOfNumbersWithEveryProductOfTheStep) {
  const auto row = measured({"toy", "--steps", "3"});
  EXPECT_EQ(row["name"], "toy");
  EXPECT_EQ(row["precision"], "f32");
  EXPECT_EQ(row["steps"], 3);
  EXPECT_EQ(row["parameters"], 106304);
  EXPECT_GT(double(row["peak_bytes"]), 0);
  const double ms = row["ms_per_step"];
  EXPECT_LE(double(row["ms_lower_quartile"]), ms);
  EXPECT_LE(ms, double(row["ms_upper_quartile"]));
  EXPECT_NEAR(double(row["ratio"]), ms / double(row["floor_ms"]), 1e-9);
  EXPECT_NEAR(double(row["tokens_per_second"]), 64 * 32 / ms * 1e3, 1e-6);
  const double b = 64, t = 32, c = 64, f = 256, v = 65, layers = 2;
  expect_flops(row, 3 * 2 * b * t * (layers * (4 * c * c + 2 * c * f + 2 * t * c) + c * v));
  // The profile has forward, backward and the rest, the costliest first.
  double before = HUGE_VAL;
  std::vector<std::string> found;
  for (const auto& part : row["profile"]) {
    EXPECT_LE(double(part["ms"]), before);
    before = part["ms"];
    EXPECT_GE(double(part["bytes"]), 0);
    EXPECT_GE(double(part["calls"]), 1);
    found.push_back(part["part"].get<std::string>() + " " + part["op"].get<std::string>());
  }
  for (const char* name :
       {"forward linear", "forward layer_norm", "forward cross_entropy", "backward linear",
        "rest data", "rest optimizer", "rest gradient norm", "rest backward"}) {
    EXPECT_TRUE(std::ranges::count(found, name)) << name;
  }
}

// Each block has four linear maps in attention, and two of d_ff; those of the decoder have four
// more, two of which read the source.
TEST(BenchTest, TheFloorOfAnEncoderDecoderHasEveryProductOfTheStep) {
  const auto row = measured({"seq2seq", "--steps", "1"});
  const double b = 64, s = 17, t = 16, c = 64, f = 256, v = 65, layers = 2;
  const double encoder = s * (4 * c * c + 2 * c * f + 2 * s * c);
  const double decoder = t * (4 * c * c + 2 * c * f + 2 * t * c);
  const double cross = (2 * t + 2 * s) * c * c + 2 * t * s * c;
  expect_flops(row, 3 * 2 * b * (layers * (encoder + decoder + cross) + t * c * v));
  EXPECT_NEAR(double(row["tokens_per_second"]), b * (s + t) / double(row["ms_per_step"]) * 1e3,
              1e-6);
}

// 49 patches of 16 pixels, which are no parameters, so that backward has two products of the first
// map and three of every other; and a class token.
TEST(BenchTest, TheFloorOfAVisionTransformerHasEveryProductOfTheStep) {
  const auto row = measured({"vit", "--steps", "1"});
  const double b = 64, n = 49, p = 16, t = 50, c = 64, f = 128, classes = 10, layers = 4;
  const double blocks = layers * t * (4 * c * c + 2 * c * f + 2 * t * c);
  expect_flops(row, 2 * b * (3 * blocks + 2 * n * p * c + 3 * c * classes));
  EXPECT_NEAR(double(row["tokens_per_second"]), b / double(row["ms_per_step"]) * 1e3, 1e-6);
}

TEST(BenchTest, MeasuresInAnyPrecisionThatTrains) {
  for (const char* precision : {"f64", "bf16"}) {
    const auto row =
        measured({"toy", "--precision", precision, "--steps", "1", "--set", "train.batch_size=2"});
    EXPECT_EQ(row["precision"], precision);
  }
}

TEST(BenchTest, MeasuresHowFastAModelWrites) {
  for (const auto& [shape, length] : {std::pair("toy", 32), std::pair("seq2seq", 16)}) {
    const auto row = measured({shape, "--generation"});
    EXPECT_EQ(row["length"], length);
    EXPECT_GT(double(row["tokens_per_second"]), 0);
    EXPECT_GT(double(row["tokens_per_second_without_cache"]), 0);
  }
}

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

const BenchShape& shape_called(const std::string& name) {
  return *std::ranges::find(bench_shapes(), name, &BenchShape::name);
}

std::vector<double> numbers_of(const Batch& batch) {
  std::vector<double> all = batch.targets.to_vector();
  for (const Array& input : batch.inputs) {
    const std::vector<double> numbers = input.to_vector();
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

TEST(RandomDataTest, IsAFunctionOfTheSeedAndTheStep) {
  for (const BenchShape& shape : bench_shapes()) {
    const auto numbers = [&](uint64_t seed, int64_t step) {
      return numbers_of(random_data(shape, seed)->training_batch(step, 3));
    };
    EXPECT_EQ(numbers(1, 0), numbers(1, 0)) << shape.name;
    EXPECT_NE(numbers(1, 0), numbers(1, 1)) << shape.name;
    EXPECT_NE(numbers(1, 0), numbers(2, 0)) << shape.name;
  }
}

TEST(RandomDataTest, TheTargetOfATokenIsTheOneAfterIt) {
  const Batch batch = random_data(shape_called("toy"), 1)->training_batch(0, 3);
  ASSERT_EQ(batch.inputs.size(), 1);
  const std::vector<double> tokens = batch.inputs[0].to_vector(),
                            targets = batch.targets.to_vector();
  ASSERT_EQ(batch.targets.shape(), Shape({3, 32}));
  for (size_t row = 0; row < 3; ++row) {
    for (size_t t = 0; t + 1 < 32; ++t) EXPECT_EQ(targets[row * 32 + t], tokens[row * 32 + t + 1]);
  }
}

TEST(RandomDataTest, ASourceEndsWithTheFirstTokenOfTheTarget) {
  const Batch batch = random_data(shape_called("seq2seq"), 1)->training_batch(0, 64);
  ASSERT_EQ(batch.inputs.size(), 2);
  ASSERT_EQ(batch.inputs[0].shape(), Shape({64, 17}));
  ASSERT_EQ(batch.inputs[1].shape(), Shape({64, 16}));
  ASSERT_EQ(batch.targets.shape(), Shape({64, 16}));
  const std::vector<double> source = batch.inputs[0].to_vector(),
                            target = batch.inputs[1].to_vector();
  for (size_t row = 0; row < 64; ++row) EXPECT_EQ(source[row * 17 + 16], target[row * 16]);
}

TEST(RandomDataTest, ImagesAreOfTenClasses) {
  const Batch batch = random_data(shape_called("vit"), 1)->training_batch(0, 640);
  ASSERT_EQ(batch.inputs.size(), 1);
  EXPECT_EQ(batch.inputs[0].shape(), Shape({640, 1, 28, 28}));
  const std::vector<double> classes = batch.targets.to_vector();
  ASSERT_EQ(classes.size(), 640);
  for (int c = 0; c < 10; ++c) EXPECT_GT(std::ranges::count(classes, c), 0) << c;
  EXPECT_EQ(std::ranges::max(classes), 9);
}

TEST(RandomDataTest, HasNoValidationPart) {
  for (const char* name : {"toy", "vit"}) {
    const auto data = random_data(shape_called(name), 1);
    EXPECT_EQ(data->validation_size(), 0);
    EXPECT_THROW(data->validation_batch(0, 1), Error);
  }
}

TEST(BenchShapeTest, SaysWhatItIs) {
  EXPECT_EQ(shape_called("toy").describe(), "2 layers, d_model 64, 4 heads, d_ff 256, T 32, B 64");
  EXPECT_EQ(shape_called("seq2seq").describe(),
            "2 layers each, d_model 64, 4 heads, d_ff 256, a source of 17 and T 16, B 64");
  EXPECT_EQ(shape_called("vit").describe(),
            "4 layers, d_model 64, 4 heads, d_ff 128, images of 28 x 28, B 64");
}

}  // namespace
}  // namespace qkv
