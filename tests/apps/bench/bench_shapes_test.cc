#include "apps/bench/bench_shapes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "framework/core/error.h"
#include "models/model.h"

namespace qkv {
namespace {

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

TEST(RandomDataTest, HasTheFormThatTheModelTakes) {
  for (const BenchShape& shape : bench_shapes()) {
    EXPECT_EQ(random_data(shape, 1)->form(), form_of(shape.kind)) << shape.name;
    EXPECT_EQ(config_of(shape).model.kind, shape.kind);
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
