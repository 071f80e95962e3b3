#include "framework/core/array.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "framework/core/dtype.h"
#include "framework/core/shape.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using Values = std::vector<double>;

TEST(ArrayTest, HoldsItsValuesInEveryType) {
  const Values values = {1.5, 0, -2};
  EXPECT_EQ(Array::of({3}, DType::f32, values).to_vector(), values);
  EXPECT_EQ(Array::of({3}, DType::f64, values).to_vector(), values);
  EXPECT_EQ(Array::of({3}, DType::bf16, values).to_vector(), values);
  EXPECT_EQ(Array::of({3}, DType::i64, values).to_vector(), (Values{1, 0, -2}));
  EXPECT_EQ(Array::of({3}, DType::boolean, values).to_vector(), (Values{1, 0, 1}));
  EXPECT_EQ(Array::full({2}, DType::f32, 0.25).to_vector(), (Values{0.25, 0.25}));
}

TEST(ArrayTest, DescribesItself) {
  EXPECT_EQ(Array({4, 16, 64}, DType::f32).describe(), "f32[4, 16, 64]");
  EXPECT_EQ(Array({}, DType::boolean).describe(), "bool[]");
  EXPECT_EQ(Array({2}, DType::bf16).bytes(), 4u);
}

TEST(ArrayTest, ReshapedSharesStorageAndCopyDoesNot) {
  const Array x = Array::of({2, 3}, DType::f64, Values{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(x.reshaped({6}).raw(), x.raw());
  EXPECT_EQ(x.reshaped({6}).shape(), (Shape{6}));
  EXPECT_NE(x.copy().raw(), x.raw());
  EXPECT_EQ(x.copy().to_vector(), x.to_vector());
  expect_error("reshape: f64[2, 3] has 6 elements and [4] has 4", [&] { x.reshaped({4}); });
}

TEST(ArrayTest, WithoutStorageKeepsShapeAndType) {
  const Array x = Array({2, 3}, DType::f64).without_storage();
  EXPECT_FALSE(x.defined());
  EXPECT_EQ(x.describe(), "f64[2, 3]");
  expect_error("array: f64[2, 3] holds no numbers", [&] { x.data<double>(); });
}

TEST(ArrayTest, AnUndefinedArrayHasNoNumbers) {
  const Array undefined;
  EXPECT_EQ(undefined.raw(), nullptr);
  const std::string error = "array: f32[] holds no numbers";
  expect_error(error, [&] { undefined.data<float>(); });
  expect_error(error, [&] { undefined.copy(); });
  expect_error(error, [&] { undefined.to_vector(); });
  expect_error(error, [&] { undefined.reshaped({1}); });
  expect_error(error, [&] { Array().mutable_data<float>(); });
  expect_error("array: f64[2, 3] holds no numbers", [&] {
    Array({2, 3}, DType::f64).without_storage().copy();
  });
}

TEST(ArrayTest, HoldsNoIndexThatIsNoNumber) {
  for (const double value : {0x1p63, -0x1.1p63, 1.0 / 0.0}) {
    EXPECT_NE(error_of([=] { Array::full({2}, DType::i64, value); }), "");
  }
  expect_error("array: i64 does not hold nan", [] { Array::full({2}, DType::i64, 0.0 / 0.0); });
  expect_error("array: i64 does not hold 1e+300", [] {
    Array::of({2}, DType::i64, Values{1, 1e300});
  });
  EXPECT_EQ(Array::full({1}, DType::i64, -0x1p63).to_vector(), (Values{-0x1p63}));
}

TEST(ArrayTest, ReadingAnotherTypeIsAnError) {
  expect_error("array: f32[2] read as f64", [] { Array({2}, DType::f32).data<double>(); });
}

TEST(ArrayTest, ValuesMustFillTheShape) {
  expect_error("array: 3 values do not fill shape [2, 2]", [] {
    Array::of({2, 2}, DType::f32, Values{1, 2, 3});
  });
}

TEST(ShapeTest, CountsElements) {
  EXPECT_EQ((Shape{4, 16, 64}).size(), 4096);
  EXPECT_EQ(Shape().size(), 1);
  EXPECT_EQ((Shape{3, 0}).size(), 0);
}

TEST(ShapeTest, AxesCountFromTheEndToo) {
  const Shape shape = {2, 3, 4};
  EXPECT_EQ(shape[-1], 4);
  EXPECT_EQ(shape[-3], shape[0]);
  expect_error("axis 3 is out of range for shape [2, 3, 4]", [&] { (void)shape[3]; });
  expect_error("axis -4 is out of range for shape [2, 3, 4]", [&] { (void)shape[-4]; });
}

TEST(ShapeTest, CopiesWithOneAxisChanged) {
  const Shape shape = {2, 3, 4};
  EXPECT_EQ(shape.with(1, 7), (Shape{2, 7, 4}));
  EXPECT_EQ(shape.without(-1), (Shape{2, 3}));
  EXPECT_EQ(shape.without(0), (Shape{3, 4}));
  EXPECT_EQ(shape.inserted(0, 9), (Shape{9, 2, 3, 4}));
  EXPECT_EQ(shape.inserted(3, 9), (Shape{2, 3, 4, 9}));
  EXPECT_EQ(shape.inserted(-1, 9), (Shape{2, 3, 4, 9}));
  expect_error("shape: cannot insert an axis at 4 into [2, 3, 4]", [&] { shape.inserted(4, 9); });
  expect_error("shape: cannot insert an axis at -5 into [2, 3, 4]", [&] { shape.inserted(-5, 9); });
  EXPECT_NE(shape, (Shape{2, 3}));
}

TEST(ShapeTest, RefusesWhatNoArrayCanHave) {
  expect_error("shape: size -1 is negative", [] { Shape{2, -1}; });
  expect_error("shape: rank 9 is above the limit of 8", [] { Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; });
}

TEST(ShapeTest, NothingComputedFromItOverflows) {
  constexpr int64_t kMost = Shape::kMaxSize, kLarge = int64_t{1} << 32;
  EXPECT_EQ((Shape{kMost}).size(), kMost);
  EXPECT_LE(kMost, std::numeric_limits<int64_t>::max() / static_cast<int64_t>(sizeof(double)));
  expect_error("shape: [1152921504606846976] is above the limit of 1152921504606846975 elements",
               [] { Shape{kMost + 1}; });
  expect_error("shape: [4294967296, 4294967296] is above the limit of 1152921504606846975 elements",
               [] {
                 Shape{kLarge, kLarge};
               });
  expect_error("pad: [4294967296, 4294967296] is above the limit of 1152921504606846975 elements",
               [] {
                 Shape({kLarge, 1}).with(1, kLarge, "pad");
               });
  EXPECT_NE(error_of([] { Shape({kLarge}).inserted(0, kLarge); }), "");
  EXPECT_NE(error_of([] { broadcast_shapes("add", {kLarge, 1}, {kLarge}); }), "");
  // A size of 0 hides no overflow, wherever it stands.
  EXPECT_EQ((Shape{0, kMost}).size(), 0);
  for (const int64_t one : {kLarge, int64_t{0}}) {
    for (const int64_t other : {kLarge, int64_t{0}}) {
      EXPECT_NE(error_of([=] { Shape{one, kLarge, other, kLarge}; }), "");
    }
  }
  expect_error("stack: rank 9 is above the limit of 8", [] {
    Shape({1, 1, 1, 1, 1, 1, 1, 1}).inserted(0, 1, "stack");
  });
}

TEST(BroadcastTest, AlignsAtTheRightAndStretchesOnes) {
  EXPECT_EQ(broadcast_shapes("add", {2, 1, 4}, {3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(broadcast_shapes("add", {}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast_shapes("add", {2, 0}, {1}), (Shape{2, 0}));
}

TEST(BroadcastTest, NamesTheSizesThatClash) {
  expect_error("add: shapes do not broadcast: a [2, 3, 4], b [5, 4]: sizes 3 and 5 at axis -2", [] {
    broadcast_shapes("add", {2, 3, 4}, {5, 4});
  });
  expect_error("add: shapes do not broadcast: a [0], b [2]: sizes 0 and 2 at axis -1",
               [] { broadcast_shapes("add", {0}, {2}); });
}

float rounded(float value) { return static_cast<float>(BFloat16(value)); }

TEST(BFloat16Test, RoundsToTheNearest) {
  const float step = 0x1p-7f;  // between 1 and 2
  EXPECT_EQ(rounded(1.0f), 1.0f);
  EXPECT_EQ(rounded(1.0f + 0.4f * step), 1.0f);
  EXPECT_EQ(rounded(1.0f + 0.6f * step), 1.0f + step);
  EXPECT_EQ(rounded(-1.0f - 0.6f * step), -1.0f - step);
}

TEST(BFloat16Test, TiesGoToTheEvenNumber) {
  const float step = 0x1p-7f;
  EXPECT_EQ(rounded(1.0f + 0.5f * step), 1.0f);
  EXPECT_EQ(rounded(1.0f + 1.5f * step), 1.0f + 2 * step);
}

TEST(BFloat16Test, KeepsInfinitiesAndNaNs) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(rounded(kInfinity), kInfinity);
  EXPECT_EQ(rounded(-kInfinity), -kInfinity);
  EXPECT_EQ(rounded(std::numeric_limits<float>::max()), kInfinity);
  EXPECT_TRUE(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN())));
  // A NaN whose upper half alone would read as an infinity.
  EXPECT_TRUE(std::isnan(rounded(std::bit_cast<float>(0x7f800001u))));
  EXPECT_TRUE(std::signbit(rounded(-0.0f)));
}

}  // namespace
}  // namespace qkv
